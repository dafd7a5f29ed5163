/* mpi_abi.h - what mpi.c uses of MPI, by the binary interface that MPI 5.0 gives to all libraries alike: handles and
 * constants as that standard numbers them, and functions that are found in libmpi_abi.so.1 when the first communicator
 * is made.  So one module, built where there is no MPI, runs on MPICH 5, Intel MPI 2021.19 and all that come with such
 * a library.  https://www.mpi-forum.org/docs/mpi-5.0/mpi50-report.pdf, chapter 20 and annex A.
 */
#ifndef HCY_MPI_ABI_H
#define HCY_MPI_ABI_H

#include <dlfcn.h>
#include <string.h>

typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Datatype *MPI_Datatype;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
typedef struct MPI_ABI_Info *MPI_Info;
typedef struct MPI_ABI_Op *MPI_Op;
typedef struct MPI_ABI_Request *MPI_Request;
typedef struct MPI_Status {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR, MPI_internal[5];
} MPI_Status;

/* Handles of what is there from the beginning: addresses of the first page, where nothing lies. */
#define MPI_SUM           ((MPI_Op)0x21)
#define MPI_MIN           ((MPI_Op)0x22)
#define MPI_MAX           ((MPI_Op)0x23)
#define MPI_COMM_NULL     ((MPI_Comm)0x100)
#define MPI_COMM_WORLD    ((MPI_Comm)0x101)
#define MPI_INFO_NULL     ((MPI_Info)0x130)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x143)
#define MPI_FLOAT         ((MPI_Datatype)0x210)
#define MPI_DOUBLE        ((MPI_Datatype)0x214)
#define MPI_INT8_T        ((MPI_Datatype)0x240)
#define MPI_UINT8_T       ((MPI_Datatype)0x241)
#define MPI_BYTE          ((MPI_Datatype)0x247)
#define MPI_INT16_T       ((MPI_Datatype)0x248)
#define MPI_UINT16_T      ((MPI_Datatype)0x249)
#define MPI_INT32_T       ((MPI_Datatype)0x250)
#define MPI_UINT32_T      ((MPI_Datatype)0x251)
#define MPI_INT64_T       ((MPI_Datatype)0x258)
#define MPI_UINT64_T      ((MPI_Datatype)0x259)
#define MPI_IN_PLACE      ((void *)1)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)

enum {
    MPI_SUCCESS = 0,
    MPI_UNDEFINED = -32766,
    MPI_COMM_TYPE_SHARED = 221,
    MPI_MAX_ERROR_STRING = 512,
    MPI_THREAD_SERIALIZED = 2048
};

/* name, arguments; all return an int */
#define MPI_ABI_FUNCTIONS(X)                                                                                       \
    X(MPI_Abi_get_version, (int *, int *))                                                                         \
    X(MPI_Abort, (MPI_Comm, int))                                                                                  \
    X(MPI_Allreduce, (const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm))                                  \
    X(MPI_Barrier, (MPI_Comm))                                                                                     \
    X(MPI_Bcast, (void *, int, MPI_Datatype, int, MPI_Comm))                                                       \
    X(MPI_Comm_dup, (MPI_Comm, MPI_Comm *))                                                                        \
    X(MPI_Comm_free, (MPI_Comm *))                                                                                 \
    X(MPI_Comm_rank, (MPI_Comm, int *))                                                                            \
    X(MPI_Comm_set_errhandler, (MPI_Comm, MPI_Errhandler))                                                         \
    X(MPI_Comm_size, (MPI_Comm, int *))                                                                            \
    X(MPI_Comm_split, (MPI_Comm, int, int, MPI_Comm *))                                                            \
    X(MPI_Comm_split_type, (MPI_Comm, int, int, MPI_Info, MPI_Comm *))                                             \
    X(MPI_Error_string, (int, char *, int *))                                                                      \
    X(MPI_Finalize, (void))                                                                                        \
    X(MPI_Finalized, (int *))                                                                                      \
    X(MPI_Get_count, (const MPI_Status *, MPI_Datatype, int *))                                                    \
    X(MPI_Iallreduce, (const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *))                  \
    X(MPI_Ibarrier, (MPI_Comm, MPI_Request *))                                                                     \
    X(MPI_Ibcast, (void *, int, MPI_Datatype, int, MPI_Comm, MPI_Request *))                                       \
    X(MPI_Init_thread, (int *, char ***, int, int *))                                                              \
    X(MPI_Initialized, (int *))                                                                                    \
    X(MPI_Irecv, (void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))                                   \
    X(MPI_Isend, (const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *))                             \
    X(MPI_Test, (MPI_Request *, int *, MPI_Status *))                                                              \
    X(MPI_Wait, (MPI_Request *, MPI_Status *))

static struct {
#define MEMBER(name, arguments) int(*name) arguments;
    MPI_ABI_FUNCTIONS(MEMBER)
#undef MEMBER
    void *library;
    int complete;
} mpi_abi;

static int find_mpi_function(void *to, void *library, const char *name)
{
    void *function = dlsym(library, name);
    memcpy(to, &function, sizeof function);
    return function ? 0 : hcy_fail(HCY_EABI, "MPI (" TRANSPORT_NAME "): libmpi_abi.so.1 has no %s()", name);
}

/* Before any other function here, under the caller's lock.  The library is never closed: it has threads. */
static int find_mpi(void)
{
    int major = 0, minor = 0, status = 0;
    if (mpi_abi.complete)
        return 0;
    void *library = dlopen("libmpi_abi.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return hcy_fail_vendor(HCY_ENODEV, 0, dlerror(),
                               "MPI (" TRANSPORT_NAME "): MPICH 5 and Intel MPI have this library, whose directory "
                               "LD_LIBRARY_PATH may name; for others build where their headers are (libopenmpi-dev, "
                               "libmpich-dev)");
#define FIND(name, arguments) status = status ? status : find_mpi_function(&mpi_abi.name, library, #name);
    MPI_ABI_FUNCTIONS(FIND)
#undef FIND
    if (!status && (mpi_abi.MPI_Abi_get_version(&major, &minor) || major != 1))
        status = hcy_fail(HCY_EABI,
                          "MPI (" TRANSPORT_NAME "): libmpi_abi.so.1 has version %d.%d of the interface, 1 is known here",
                          major, minor);
    mpi_abi.complete = !status;
    mpi_abi.library = library;
    return status;
}

static void *find_extension(const char *name)
{
    return dlsym(mpi_abi.library, name);
}

#define MPI_Abort               mpi_abi.MPI_Abort
#define MPI_Allreduce           mpi_abi.MPI_Allreduce
#define MPI_Barrier             mpi_abi.MPI_Barrier
#define MPI_Bcast               mpi_abi.MPI_Bcast
#define MPI_Comm_dup            mpi_abi.MPI_Comm_dup
#define MPI_Comm_free           mpi_abi.MPI_Comm_free
#define MPI_Comm_rank           mpi_abi.MPI_Comm_rank
#define MPI_Comm_set_errhandler mpi_abi.MPI_Comm_set_errhandler
#define MPI_Comm_size           mpi_abi.MPI_Comm_size
#define MPI_Comm_split          mpi_abi.MPI_Comm_split
#define MPI_Comm_split_type     mpi_abi.MPI_Comm_split_type
#define MPI_Error_string        mpi_abi.MPI_Error_string
#define MPI_Finalize            mpi_abi.MPI_Finalize
#define MPI_Finalized           mpi_abi.MPI_Finalized
#define MPI_Get_count           mpi_abi.MPI_Get_count
#define MPI_Iallreduce          mpi_abi.MPI_Iallreduce
#define MPI_Ibarrier            mpi_abi.MPI_Ibarrier
#define MPI_Ibcast              mpi_abi.MPI_Ibcast
#define MPI_Init_thread         mpi_abi.MPI_Init_thread
#define MPI_Initialized         mpi_abi.MPI_Initialized
#define MPI_Irecv               mpi_abi.MPI_Irecv
#define MPI_Isend               mpi_abi.MPI_Isend
#define MPI_Test                mpi_abi.MPI_Test
#define MPI_Wait                mpi_abi.MPI_Wait

#endif
