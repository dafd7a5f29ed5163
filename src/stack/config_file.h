/* config_file.h - a configuration in JSON that is being read: its keys, for the files that read parts of it. */
#ifndef HCY_STACK_CONFIG_FILE_H
#define HCY_STACK_CONFIG_FILE_H

#include "curves_priv.h"

#ifdef HAVE_JANSSON
#include <jansson.h>

enum { HCY__CONFIG_LATEST = 5 };

struct hcy__config_file {
    hcy_config *to;
    const char *path;
    json_t *json;
    int version;
    size_t *known; /* how many of its keys, or more, were ones that configurations have */
};

/* The value of a key that is there and not null, else NULL. */
json_t *hcy__config_value(const struct hcy__config_file *file, const char *key);
/* Is what the key belongs to switched off (before version 5)?  No key: it is not. */
int hcy__config_is_off(const struct hcy__config_file *file, const char *key);
/* HCY_EFORMAT: its value is not `what`; HCY_EUNSUPPORTED: it says something that cannot be had. */
int hcy__config_refuse(const struct hcy__config_file *file, const char *key, const char *what);
int hcy__config_unsupported(const struct hcy__config_file *file, const char *key, const char *what);
/* config_options.c: file->to->options. */
int hcy__config_read_options(const struct hcy__config_file *file);
#endif

#endif
