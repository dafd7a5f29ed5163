/* fuzz.c - every fuzz target on damaged seeds, each in a child with a time limit.
 *
 *     tests/fuzz [EXECUTIONS [SEED [TARGET]]]        (300 of each target; more by hand)
 */
#include "fuzz.h"
#include "leaks.h"
#include "mutate_files.h"
#include "stack_make.h"
#include <errno.h>
#include <sys/wait.h>

enum { MOST_SEEDS = 32, SECONDS = 200 };

static struct {
    uint8_t *bytes;
    size_t size;
} seeds[MOST_SEEDS];
static size_t n_seeds;

const char *fuzz_folder(void)
{
    return folder;
}

void fuzz_give(const void *bytes, size_t size)
{
    if (n_seeds == MOST_SEEDS || !size)
        bail_out("a seed too many, or an empty one");
    seeds[n_seeds].bytes = memcpy(malloc(size), bytes, size);
    seeds[n_seeds++].size = size;
}

/* In memory of its own size, so that a sanitizer sees the end. */
static int run(const struct fuzz_target *target, const uint8_t *bytes, size_t size)
{
    uint8_t *copy = memcpy(malloc(size ? size : 1), bytes, size);
    int taken = target->run(copy, size);
    free(copy);
    return taken;
}

typedef size_t (*mutate_fn)(uint8_t *bytes, size_t size);

/* Damage of the target's own kind, where it has one. */
static mutate_fn mutation_of(const char *name)
{
    static const struct {
        const char *name;
        mutate_fn mutate;
    } kinds[] = { { "tiff", mutate_tiff }, { "edf", mutate_header }, { "cbf", mutate_cbf },
                  { "cakes", mutate_header }, { "raw", mutate_words }, { "npy", mutate_header },
                  { "xclbin", mutate_xclbin } };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strcmp(kinds[i].name, name))
            return kinds[i].mutate;
    return mutate;
}

/* Executions of this target in this process: each seed as it is, then damaged ones. */
static int run_all(const struct fuzz_target *target, size_t n, uint64_t seed)
{
    int good = 1;
    size_t n_taken = 0;
    mutate_fn own = mutation_of(target->name);
    target->seed();
    for (size_t i = 0; i < n_seeds; i++)
        if (!run(target, seeds[i].bytes, seeds[i].size)) {
            diag("%s: seed %zu is not taken", target->name, i);
            good = 0;
        }
    for (size_t i = 0; n_seeds && i < n; i++) {
        size_t k = i % n_seeds, size = seeds[k].size;
        uint8_t *bytes = memcpy(malloc(size), seeds[k].bytes, size);
        state = seed + i * 0x9e3779b97f4a7c15u;
        size = own != mutate && next() % 2 ? own(bytes, size) : mutate(bytes, size);
        n_taken += (size_t)run(target, bytes, size);
        free(bytes);
    }
    diag("%s: %zu seeds; %zu damaged inputs taken", target->name, n_seeds, n_taken);
    return good && n_seeds;
}

/* LeakSanitizer looks when a program ends in order, which children here do not. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static int in_child(const struct fuzz_target *target, size_t n, uint64_t seed)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
        alarm(SECONDS);
        int good = run_all(target, n, seed);
        if (__lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check()) {
            diag("%s: memory is left", target->name);
            good = 0;
        }
        fflush(stdout);
        _exit(!good);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child < 0 ? -1 : status;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 300;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    make_folder();
    for (size_t list = 0; list < FUZZ_LISTS; list++)
        for (const struct fuzz_target *t = fuzz_lists[list]; t->name; t++)
            if (argc < 4 || !strcmp(argv[3], t->name))
                is_int(in_child(t, n, seed), 0, "%s: %zu damaged inputs", t->name, n);
    return done_testing();
}
