/* group.c - see group.h.
 *
 * A group's curve is that of the image that is the sum of its frames, divided by the sum of their monitors; a group
 * with a frame that failed has failed, as a curve of fewer frames would look like one of less intensity. */
#include "group.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int group_read_monitor(struct group *g, const hcy_stack *stack, const char *text)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    char path[4096 + 512];
    size_t n;
    if (!text)
        return CLI_OK;
    if (strstr(text, "::"))
        snprintf(path, sizeof path, "%s", text);
    else
        snprintf(path, sizeof path, "%s::%s", info->path, text);
    int status = hcy_numbers_read(&g->monitor, &n, path);
    if (status)
        return cli_error("--monitor: %s", hcy_last_error()->text);
    if (n == info->frames)
        return CLI_OK;
    return cli_error("--monitor: %s has %zu %s, %s has %llu %s", path, n, n == 1 ? "value" : "values",
                     info->path, (unsigned long long)info->frames, info->frames == 1 ? "frame" : "frames");
}

int group_open(struct group *g, const hcy_azint_plan *plan, uint64_t size)
{
    g->size = size;
    int status = size > 1 ? hcy_azint_result_create(&g->sum, plan) : 0;
    return status ? cli_fail(status) : CLI_OK;
}

double group_monitor(void *group, uint64_t number)
{
    const struct group *g = group;
    return g->monitor[number];
}

static int add(struct group *g, const hcy_pipeline_frame *frame)
{
    if (!g->n) {
        g->first = frame->number;
        g->counts = 0;
        *g->why = 0;
    }
    if (!frame->result && !*g->why)
        snprintf(g->why, sizeof g->why, "of its frames %llu failed: %.256s",
                 (unsigned long long)frame->number, frame->why);
    int status = frame->result && !*g->why ? hcy_azint_result_add(g->sum, frame->result, g->n) : 0;
    g->n++;
    if (g->monitor)
        g->counts += g->monitor[frame->number];
    return status;
}

int group_end(struct group *g, hcy_curves *curves, uint64_t *written)
{
    *written = 0;
    if (!g->n)
        return 0;
    if (!*g->why && hcy_azint_result_merge(g->sum, g->n, g->monitor ? g->counts : 1)) {
        snprintf(g->why, sizeof g->why, "%s", hcy_last_error()->text);
        g->failed++;
        cli_note("the sum of %llu frames from %llu failed: %s", (unsigned long long)g->n,
                 (unsigned long long)g->first, g->why);
    }
    *written = !*g->why;
    g->n = 0;
    return hcy_curves_append(curves, g->first, *g->why ? NULL : g->sum, g->why);
}

int group_take(struct group *g, hcy_curves *curves, const hcy_pipeline_frame *frame, uint64_t *written)
{
    *written = 0;
    if (g->size < 2) {
        *written = frame->result != NULL;
        return hcy_curves_append(curves, frame->number, frame->result, frame->why);
    }
    int status = add(g, frame);
    return status || g->n < g->size ? status : group_end(g, curves, written);
}

void group_close(struct group *g)
{
    hcy_list_free(g->monitor);
    hcy_azint_result_destroy(g->sum);
}
