/* flatjson.h - looking up keys of a small JSON object, without a JSON library.
 *
 * A PONI file holds one JSON object of a handful of keys (Detector_config), and has to be read in builds for
 * embedded hosts that have no JSON library.  The text is checked to be one object; values are found, not
 * built: a value is the piece of text between its key and the next, to be read with the functions below.
 * Keys are compared without regard to case, as pyFAI does; names with escapes are not found.  No state, any
 * thread.
 */
#ifndef HCY_AZINT_FLATJSON_H
#define HCY_AZINT_FLATJSON_H

#include <stddef.h>

typedef struct flatjson_value {
    const char *text; /* NULL: the key is not there */
    size_t size;
} flatjson_value;

/* 0, or -1 if `text` (0-terminated) is not one JSON object with nothing behind it. */
int hcy__flatjson_find(flatjson_value *value, const char *text, const char *key);
int hcy__flatjson_is_null(flatjson_value value); /* null, or not there at all */
/* 0, or -1 if the value is not a number, or not an array of n numbers. */
int hcy__flatjson_number(double *x, flatjson_value value);
int hcy__flatjson_numbers(double *x, size_t n, flatjson_value value);
/* 0, or -1 if it is no string, has another escape than of ", \, / and \uXXXX (then UTF-8), or does not fit. */
int hcy__flatjson_string(char *text, size_t size, flatjson_value value);

#endif
