/* config_old.h - configurations of version 1, brought up to version 2 in place. */
#ifndef HCY_STACK_CONFIG_OLD_H
#define HCY_STACK_CONFIG_OLD_H

#include <jansson.h>

/* 0, or what reading its PONI file gave. */
int hcy__config_renew(json_t *json);

#endif
