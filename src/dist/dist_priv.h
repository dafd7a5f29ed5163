/* dist_priv.h - a communicator, as src/dist sees it, and messages between arrays. */
#ifndef HCY_DIST_PRIV_H
#define HCY_DIST_PRIV_H

#include "array_priv.h"
#include "transport.h"

#include <halcyon/dist.h>

struct hcy_dist {
    atomic_uint refs;
    const struct hcy_transport *transport;
    void *impl;
    struct hcy__place place;
    int nccl;           /* 1: it has to be there; -1: it must not be used */
    hcy_device *device; /* of hcy_dist_device() */
    const struct hcy_device_transport *on_device; /* NULL: through the host */
    void *device_impl;
    hcy_buffer *staging; /* pinned memory of a device, which grows */
};

/* What a wish says: names of transports, and the piece of messages. */
struct hcy__wish {
    char transport[16]; /* "": whatever fits; "mpi": any MPI */
    bool without[4];    /* of the names in transports.c */
    int nccl;
    size_t piece;
};
int hcy__dist_wish(struct hcy__wish *wish, const char *text);
/* Joins the processes that a wish is for. */
int hcy__dist_join(const struct hcy_transport **transport, void **impl, struct hcy__place *place,
                   const struct hcy__wish *wish);
/* The module NAME, of one of the two kinds.  HCY_ENODEV, HCY_EBACKEND, HCY_EABI. */
int hcy__transport_load(const struct hcy_transport **host, const struct hcy_device_transport **device,
                        const char *name);

/* An array, or a part of one, that goes to or comes from a rank; this one's own too. */
struct hcy__part {
    int rank;
    bool sends;
    hcy_array *array;
};
/* All parts at once.  Between two ranks they go in their order, and have as many bytes at both ends. */
int hcy__dist_exchange(hcy_queue *queue, hcy_dist *comm, const struct hcy__part *parts, size_t n);
/* A view of `count` rows of an array from row `first` of an axis on. */
int hcy__rows(hcy_array **rows, const hcy_array *array, int axis, int64_t first, int64_t count);
/* HCY_EINVAL: no communicator, or no such rank in it. */
int hcy__dist_check(const hcy_dist *comm, int rank, const char *function);

#endif
