/* tap.h - what the test programs need of the Test Anything Protocol; one header, no dependency.
 *
 *     #include "tap.h"
 *     int main(void)
 *     {
 *         is_int(add(1, 2), 3, "one and two");
 *         return done_testing();
 *     }
 *
 * Each check prints one line and returns whether it held.  Checks may come from any thread.  todo("reason") marks the
 * checks up to todo_end() as a known bug (one that passes after all fails the run).  main() returns done_testing().
 */
#ifndef TAP_H
#define TAP_H

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sanitizer takes memory and address space of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED
#endif
#endif

#if defined(__GNUC__)
#define TAP_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define TAP_PRINTF(fmt, args)
#endif

/* Under ThreadSanitizer a program takes some ten times as long: cases that only repeat what threads do are left out. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TAP_THREAD_SANITIZER 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define TAP_THREAD_SANITIZER 1
#endif
#ifndef TAP_THREAD_SANITIZER
#define TAP_THREAD_SANITIZER 0
#endif
/* At the exit of a child of fork LeakSanitizer waits for locks that threads of the parent may have held then. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TAP_ADDRESS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define TAP_ADDRESS_SANITIZER 1
#endif
#ifndef TAP_ADDRESS_SANITIZER
#define TAP_ADDRESS_SANITIZER 0
#endif

static struct {
    pthread_mutex_t lock;
    int planned, run, failed;
    const char *todo;
} tap_ = { PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, NULL };

#if defined(__GNUC__)
/* HCY_TEST_LOCALE: the locale of tests/locale.t, before anything is read or written. */
static void tap_locale_(void) __attribute__((constructor));
static void tap_locale_(void)
{
    const char *name = getenv("HCY_TEST_LOCALE");
    if (name && !setlocale(LC_ALL, name)) {
        printf("Bail out! there is no locale %s\n", name);
        exit(99);
    }
}
#endif

/* Says in advance how many checks there will be. */
static inline void plan(int n)
{
    tap_.planned = n;
    printf("1..%d\n", n);
    fflush(stdout);
}

/* A remark, seen when the test's output is read. */
static inline void diag(const char *fmt, ...) TAP_PRINTF(1, 2);
static inline void diag(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    pthread_mutex_lock(&tap_.lock);
    fputs("# ", stdout);
    vprintf(fmt, ap);
    putchar('\n');
    fflush(stdout);
    pthread_mutex_unlock(&tap_.lock);
    va_end(ap);
}

static inline bool tap_line_(bool good, const char *fmt, va_list ap)
{
    pthread_mutex_lock(&tap_.lock);
    printf("%sok %d - ", good ? "" : "not ", ++tap_.run);
    vprintf(fmt, ap);
    if (tap_.todo)
        printf(" # TODO %s", tap_.todo);
    else if (!good)
        tap_.failed++;
    putchar('\n');
    fflush(stdout);
    pthread_mutex_unlock(&tap_.lock);
    return good;
}

static inline bool ok(bool good, const char *fmt, ...) TAP_PRINTF(2, 3);
static inline bool ok(bool good, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tap_line_(good, fmt, ap);
    va_end(ap);
    return good;
}

static inline bool is_int(intmax_t got, intmax_t want, const char *fmt, ...) TAP_PRINTF(3, 4);
static inline bool is_int(intmax_t got, intmax_t want, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tap_line_(got == want, fmt, ap);
    va_end(ap);
    if (got != want)
        diag("got %" PRIdMAX ", want %" PRIdMAX, got, want);
    return got == want;
}

/* |got - want| <= abs or <= rel * |want|; a NaN is near a NaN alone. */
static inline bool is_near(double got, double want, double rel, double abs, const char *fmt, ...) TAP_PRINTF(5, 6);
static inline bool is_near(double got, double want, double rel, double abs, const char *fmt, ...)
{
    double d = fabs(got - want);
    bool good = got == want || (isnan(got) && isnan(want)) || d <= abs || d <= rel * fabs(want);
    va_list ap;
    va_start(ap, fmt);
    tap_line_(good, fmt, ap);
    va_end(ap);
    if (!good)
        diag("got %.17g, want %.17g (off by %.3g, relative %.3g)", got, want, d, d / fabs(want));
    return good;
}

static inline bool is_str(const char *got, const char *want, const char *fmt, ...) TAP_PRINTF(3, 4);
static inline bool is_str(const char *got, const char *want, const char *fmt, ...)
{
    bool good = got && want ? !strcmp(got, want) : got == want;
    va_list ap;
    va_start(ap, fmt);
    tap_line_(good, fmt, ap);
    va_end(ap);
    if (!good)
        diag("got \"%s\", want \"%s\"", got ? got : "(null)", want ? want : "(null)");
    return good;
}

static inline void todo(const char *reason) { tap_.todo = reason; }
static inline void todo_end(void) { tap_.todo = NULL; }

/* n checks that cannot be made here, and why. */
static inline void skip(int n, const char *fmt, ...) TAP_PRINTF(2, 3);
static inline void skip(int n, const char *fmt, ...)
{
    va_list ap;
    pthread_mutex_lock(&tap_.lock);
    for (int i = 0; i < n; i++) {
        printf("ok %d # SKIP ", ++tap_.run);
        va_start(ap, fmt);
        vprintf(fmt, ap);
        va_end(ap);
        putchar('\n');
    }
    fflush(stdout);
    pthread_mutex_unlock(&tap_.lock);
}

/* Nothing of this program can run here; ends it. */
static inline void skip_all(const char *fmt, ...) TAP_PRINTF(1, 2);
static inline void skip_all(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("1..0 # SKIP ", stdout);
    vprintf(fmt, ap);
    putchar('\n');
    va_end(ap);
    exit(0);
}

/* Going on makes no sense; ends the program. */
static inline void bail_out(const char *fmt, ...) TAP_PRINTF(1, 2);
static inline void bail_out(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("Bail out! ", stdout);
    vprintf(fmt, ap);
    putchar('\n');
    va_end(ap);
    exit(255);
}

/* The last call: the plan, if plan() gave none, and main's return value. */
static inline int done_testing(void)
{
    if (!tap_.planned)
        printf("1..%d\n", tap_.run);
    fflush(stdout);
    return tap_.failed || (tap_.planned && tap_.planned != tap_.run);
}

/* A file of the test data, in a buffer that the next calls but three overwrite; NULL if it is not there. */
static inline const char *test_data(const char *name)
{
    static char paths[4][1024];
    static int turn;
    const char *root = getenv("HALCYON_TEST_DATA");
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", root && *root ? root : "../shared/data", name);
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fclose(f);
    return path;
}

#endif
