/* near.h - which processors are near a device, by its place on the PCI bus, and threads that stay on these (near.c owns
 * it).  A set is written before the threads that read it are started. */
#ifndef HCY_PIPELINE_NEAR_H
#define HCY_PIPELINE_NEAR_H

#include <halcyon/device.h>

#define PIPE_MOST_PROCESSORS 4096 /* those of higher numbers are never near */
#define PIPE_SYSFS           "/sys"

struct pipe_near {
    size_t n; /* 0: no device says where it is */
    unsigned char is_near[PIPE_MOST_PROCESSORS];
};

/* Adds those near a device that says its place: a number of the device's is pci_bus. */
void hcy__near_add(struct pipe_near *near, hcy_device *device, const char *sysfs);
/* The same of a place: "0000:3b:00.0".  Nothing is added where the file of it cannot be read. */
void hcy__near_add_place(struct pipe_near *near, const char *place, const char *sysfs);
/* From here on the calling thread, and those that it starts, run on these alone, as far as they may now: what a user
 * has allowed does not grow.  Where none is left, or all are, nothing changes. */
void hcy__near_stay(const struct pipe_near *near);

#endif
