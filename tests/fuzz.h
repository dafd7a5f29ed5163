/* fuzz.h - what is fuzzed: everything that reads bytes somebody else wrote.
 *
 * A target takes any bytes; what it promises it checks itself, and aborts where that does not hold.  The same
 * targets run in the suite on damaged seeds (fuzz.c) and under libFuzzer (fuzz_libfuzzer.c).
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_target {
    const char *name;
    int (*run)(const uint8_t *data, size_t size); /* was it taken? */
    void (*seed)(void); /* calls fuzz_give() for each of a few inputs that are taken; before the first run */
};
/* One list a file; name NULL at its end. */
extern const struct fuzz_target fuzz_codecs[], fuzz_files[], fuzz_texts[], fuzz_programs[], fuzz_results[],
    fuzz_streams[], fuzz_tensors[], fuzz_xclbin[];
static const struct fuzz_target *const fuzz_lists[] = { fuzz_codecs, fuzz_files, fuzz_texts, fuzz_programs,
                                                       fuzz_results, fuzz_streams, fuzz_tensors, fuzz_xclbin };
enum { FUZZ_LISTS = sizeof fuzz_lists / sizeof fuzz_lists[0] };

/* Of the program that runs the targets. */
void fuzz_give(const void *bytes, size_t size);
const char *fuzz_folder(void);

#endif
