/* no_static.c - what the library hands to the HAL where all backends are modules: the families, and no backend. */
#include "families.h"
#include "hal_priv.h"

static const hcy__static_backend none[] = { { NULL, NULL } };
const struct hcy__library hcy__library = { hcy__families, none };
