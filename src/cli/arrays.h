/* arrays.h - numbers of arrays in files, as commands compute with them: reals and complex numbers in double or in
 * float.  Single-threaded. */
#ifndef HCY_CLI_ARRAYS_H
#define HCY_CLI_ARRAYS_H

#include "cli.h"
#include <halcyon/host_array.h>
#include <stdbool.h>

/* Real number i of an array; a complex number has two. */
double array_real(const hcy_host_array *a, size_t i);
/* Every imaginary part is 0: files that have complex numbers alone hold real ones so. */
bool array_is_real(const hcy_host_array *a, size_t numbers);
/* "[2][3]", of the axes from `first` on, for messages. */
const char *array_words(char text[200], const hcy_host_array *a, int first);
/* Of [n] or [vectors][n], where each may be several axes: how many vectors, and whether there is an axis of them;
 * 0: it is neither. */
size_t array_count_vectors(bool *has_axis, const hcy_host_array *a, size_t n);

/* Memory for so many reals of a precision, NULL without it; number i of such. */
void *reals_room(bool is_double, size_t n);
double reals_get(bool is_double, const void *reals, size_t i);
void reals_put(bool is_double, void *reals, size_t i, double value);
/* All of an array as complex numbers, freed by the caller; real ones have no imaginary part.  CLI_FAILED with words. */
int array_take_complex(void **numbers, const hcy_host_array *a, bool is_double);
/* n real numbers, of an array of as many; `path` and `what` are for words. */
int array_take_reals(void **numbers, const hcy_host_array *a, bool is_double, size_t n, const char *path,
                     const char *what);

#endif
