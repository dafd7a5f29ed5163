/* halcyon/status.h - statuses, and the words behind the last failure.
 *
 * Every call that can fail returns an int: 0 or a negative HCY_E* below.  What exactly was wrong stands in a
 * per-thread record, hcy_last_error(): our sentence, and the vendor's own code and words where a vendor library
 * failed.  A later failure on the same thread replaces it; success leaves it alone.
 */
#ifndef HALCYON_STATUS_H
#define HALCYON_STATUS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HCY_API __attribute__((visibility("default")))
#define HCY_MUST_USE __attribute__((warn_unused_result))
#define HCY_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define HCY_API
#define HCY_MUST_USE
#define HCY_PRINTF(fmt, args)
#endif

/* name, number, sentence */
#define HCY_STATUS_TABLE(X)                                                          \
    X(HCY_OK, 0, "success")                                                          \
    X(HCY_EINVAL, -1, "an argument is not valid")                                    \
    X(HCY_ENOMEM, -2, "out of memory")                                               \
    X(HCY_ERANGE, -3, "a range or size is past what exists or can be represented")   \
    X(HCY_EUNSUPPORTED, -4, "this device or build does not support that")            \
    X(HCY_ENODEV, -5, "no such device")                                              \
    X(HCY_EBACKEND, -6, "the device's own library reported a failure")               \
    X(HCY_ELOST, -7, "the device is lost")                                           \
    X(HCY_ECORRUPT, -8, "the data are damaged")                                      \
    X(HCY_EFORMAT, -9, "the format is not understood")                               \
    X(HCY_EIO, -10, "reading or writing failed")                                     \
    X(HCY_ENOENT, -11, "not found")                                                  \
    X(HCY_EBUSY, -12, "in use")                                                      \
    X(HCY_ETIMEOUT, -13, "the time allowed has passed")                              \
    X(HCY_ESTATE, -14, "not possible in this state")                                 \
    X(HCY_EFORK, -15, "a device was open when this process forked")                  \
    X(HCY_EABI, -16, "a backend module does not match this library")                 \
    X(HCY_ECOMPILE, -17, "a kernel did not compile")                                 \
    X(HCY_ELAUNCH, -18, "a kernel failed while it ran")                              \
    X(HCY_ECANCELLED, -19, "cancelled")

enum hcy_status {
#define HCY_STATUS_ENUM(name, number, text) name = number,
    HCY_STATUS_TABLE(HCY_STATUS_ENUM)
#undef HCY_STATUS_ENUM
    HCY_STATUS_LAST = -19
};

/* What is known of a failure.  Strings belong to the record. */
typedef struct hcy_error {
    int status;        /* HCY_E* */
    long vendor_code;  /* the vendor library's code, 0 if none */
    const char *file;  /* where in Halcyon it was noticed */
    int line;
    char vendor[128];  /* the vendor library's words, "" if none */
    char text[512];    /* what was wrong, where, what to do */
} hcy_error;

/* "HCY_EINVAL"; "HCY_E?" for a number that is no status.  Static strings. */
HCY_API const char *hcy_status_name(int status);
/* "an argument is not valid".  Static strings. */
HCY_API const char *hcy_status_text(int status);

/* The last failure on this thread, never NULL; valid until the next call into Halcyon on this thread. */
HCY_API const hcy_error *hcy_last_error(void);
HCY_API void hcy_clear_error(void);

/* Version of the library in use, "0.1.0". */
HCY_API const char *hcy_version(void);

/* For backends and kernel families: fill this thread's record and return `status`. */
HCY_API int hcy_fail_at(const char *file, int line, int status, const char *fmt, ...) HCY_PRINTF(4, 5);
/* The same with the vendor's code and words. */
HCY_API int hcy_fail_vendor_at(const char *file, int line, int status, long code, const char *words,
                               const char *fmt, ...) HCY_PRINTF(6, 7);
/* Makes a record taken elsewhere (another thread, a queue) this thread's record; returns its status. */
HCY_API int hcy_fail_again(const hcy_error *error);

#define hcy_fail(...) hcy_fail_at(__FILE__, __LINE__, __VA_ARGS__)
#define hcy_fail_vendor(...) hcy_fail_vendor_at(__FILE__, __LINE__, __VA_ARGS__)

/* The version of these headers, for #if, as hcy_version() is the library's. */
#define HCY_VERSION_MAJOR 0
#define HCY_VERSION_MINOR 1
#define HCY_VERSION_PATCH 0

#ifdef __cplusplus
}
#endif
#endif
