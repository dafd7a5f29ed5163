/* no_static.c - the table of built-in backends where all of them are modules: an empty one. */
#include "hal_priv.h"

const hcy__static_backend hcy__static_backends[] = { { NULL, NULL } };
