/* halcyon/cpu.h - a C function of the user's as a kernel on the CPU.
 *
 * For example:
 *
 *     static int fill(const hcy_cpu_group *group, void *const *args)
 *     {
 *         ((float *)args[0])[group->id[0]] = *(const float *)args[1];
 *         return 0;
 *     }
 *     static const hcy_cpu_function mine[] = { { "fill", fill } };
 *
 *     hcy_program_create(&program, device, HCY_CPU_FUNCTIONS, mine, sizeof mine, NULL);
 *
 * The table is copied; the functions must stay loaded.  hcy_launch_grid() calls the function once for every group of
 * the grid, from several threads at once.  args[i] is the address of a buffer's bytes, of a scalar or of a structure.
 * What it returns other than 0 fails the queue with HCY_ELAUNCH, its name and that number in the words.  It must not
 * wait for a queue or an event: its own queue waits for it.  Nor must it have tables prepared (hcy_kernel_prepare(),
 * which pipelines call) on its device, whose threads its launch has: that is HCY_ESTATE.
 */
#ifndef HALCYON_CPU_H
#define HALCYON_CPU_H

#include <halcyon/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HCY_CPU_FUNCTIONS "c-function"

typedef struct hcy_cpu_group {
    uint32_t id[3];     /* of this group */
    uint32_t groups[3]; /* of the grid */
    uint32_t size[3];   /* items of a group */
    void *local;        /* the group's local memory, undefined contents; NULL if none was asked for */
} hcy_cpu_group;

typedef int (*hcy_cpu_fn)(const hcy_cpu_group *group, void *const *args);

typedef struct hcy_cpu_function {
    const char *name;
    hcy_cpu_fn fn;
} hcy_cpu_function;

#ifdef __cplusplus
}
#endif
#endif
