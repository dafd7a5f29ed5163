/* npy.h - the header of NumPy's .npy files, read and written. */
#ifndef HCY_STACK_NPY_H
#define HCY_STACK_NPY_H

#include <stdint.h>

/* HEADER: of files that are written; a multiple of 64, as NumPy wants it. */
enum { HCY__NPY_RANK = 8, HCY__NPY_HEADER = 128 };

struct hcy__npy {
    char kind;             /* 'u', 'i', 'f', 'c'..., 0: not said */
    unsigned long element; /* bytes of a number */
    char type[32];         /* as the file says it */
    uint64_t shape[HCY__NPY_RANK];
    int rank;
    int fortran;   /* the first axis is the fastest, of two or more */
    uint64_t data; /* where the numbers begin */
    int packed; /* in an archive */
    uint64_t start, end; /* in the descriptor's file */
};
/* What begins at npy->start; little-endian, or HCY_EFORMAT. */
int hcy__npy_header(struct hcy__npy *npy, const char *path, int fd);
/* Opens a .npy file, or the array `member` of a .npz file (NULL: the only one), and reads its header. *fd is -1 after a
 * failure. */
int hcy__npy_file(struct hcy__npy *npy, int *fd, const char *path, const char *member);
/* The header of an array. */
void hcy__npy_write(char header[HCY__NPY_HEADER], char kind, unsigned element, int rank, const uint64_t *shape);

#endif
