/* fake_nvtx.c - what a profiler of NVIDIA's brings into a process: it notes the ranges that begin and end.
 *
 * fakeRanges() says which since the last time, "(write)(read)", and forgets them; "(write(read))" were one in the other.
 * Every place that it is given, of every module, is written to, as real ones do.  tests/fake_cuda.t builds it.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static char noted[4096], told[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void note(const char *a, const char *b)
{
    pthread_mutex_lock(&lock);
    size_t n = strlen(noted);
    snprintf(noted + n, sizeof noted - n, "%s%s", a, b);
    pthread_mutex_unlock(&lock);
}

static int push_name(const char *name)
{
    note("(", name);
    return 0;
}

static int pop_name(void)
{
    note(")", "");
    return 0;
}

static void never(void)
{
    note("none of these is called", "");
}

const char *fakeRanges(void);
const char *fakeRanges(void)
{
    pthread_mutex_lock(&lock);
    memcpy(told, noted, sizeof told);
    noted[0] = 0;
    pthread_mutex_unlock(&lock);
    return told;
}

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t which));
int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t which))
{
    const struct {
        size_t size;
        int (*module)(int module, void (****table)(void), unsigned *n);
    } *callbacks = export_table(1);
    const struct {
        size_t size;
        uint32_t version;
    } *version = export_table(3);
    if (!callbacks || callbacks->size < 2 * sizeof(void *) || !version || version->version != 3 || export_table(2))
        return 0;
    for (int m = 0; m < 9; m++) {
        void (***table)(void) = NULL;
        unsigned n = 0;
        if (callbacks->module(m, &table, &n) != (m >= 1 && m <= 6))
            return 0;
        for (unsigned i = 1; table && i < n; i++)
            *table[i] = m == 1 && i == 9    ? (void (*)(void))push_name
                        : m == 1 && i == 11 ? (void (*)(void))pop_name
                                            : never;
        if (table && (table[0] || table[n]))
            return 0;
    }
    return 1;
}
