/* fuzz_libfuzzer.c - the targets under libFuzzer: `make fuzzers` (see tests/local.mk), then
 *
 *     mkdir corpus; FUZZ_TARGET=cbf FUZZ_SEEDS=corpus tests/fuzz_libfuzzer -max_total_time=60 corpus
 *
 * FUZZ_SEEDS: a folder where the target's own seeds are written first.
 */
#include "fuzz.h"
#include "stack_make.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct fuzz_target *target;

const char *fuzz_folder(void)
{
    return folder;
}

void fuzz_give(const void *bytes, size_t size)
{
    static int n;
    char path[512];
    const char *into = getenv("FUZZ_SEEDS");
    snprintf(path, sizeof path, "%s/seed-%d", into ? into : folder, n++);
    put_file(path, bytes, size);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = getenv("FUZZ_TARGET");
    (void)argc;
    (void)argv;
    make_folder();
    for (size_t list = 0; list < FUZZ_LISTS; list++)
        for (const struct fuzz_target *t = fuzz_lists[list]; t->name; t++) {
            if (name && !strcmp(name, t->name))
                target = t;
            else if (!name)
                fprintf(stderr, "FUZZ_TARGET=%s\n", t->name);
        }
    if (!target)
        bail_out("FUZZ_TARGET names none of the targets");
    target->seed();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    target->run(data, size);
    return 0;
}
