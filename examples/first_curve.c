/* first_curve.c - the curves of a stack, on the devices that are named: first_curve STACK.h5 GEOMETRY.poni [DEVICES] */
#include <halcyon/device.h>
#include <halcyon/pipeline.h>
#include <stdio.h>

static int print_curve(void *payload, const hcy_pipeline_frame *frame)
{
    const hcy_azint_result *curve = frame->result; /* NULL: this frame failed; the others go on */
    printf("# frame %u %s\n", (unsigned)frame->number, frame->why);
    for (size_t i = 0; curve && i < curve->n_bins; i++)
        printf("%g %g %g\n", curve->radial[i], curve->intensity[i], curve->sigma[i]);
    return (void)payload, 0;
}

int main(int argc, char **argv)
{
    hcy_device **devices = NULL;
    size_t n = 0;
    hcy_stack *stack = NULL;
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options options = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *plan = NULL;
    hcy_pipeline *pipeline = NULL;

    if (argc < 3)
        return fprintf(stderr, "usage: first_curve STACK.h5 GEOMETRY.poni [DEVICES]\n"), 2;
    options.error_model = HCY_ERRORS_POISSON;
    int failed = hcy_device_open_list(&devices, &n, argv[3]) /* NULL: the best there is */
        || hcy_stack_open(&stack, argv[1], NULL) || hcy_poni_read(&poni, argv[2]);
    if (!failed) {
        const hcy_stack_info *info = hcy_stack_get_info(stack);
        hcy_pipeline_source source = hcy_pipeline_source_of(info);
        failed = hcy_azint_plan_create(&plan, &poni, info->height, info->width, &options)
            || hcy_pipeline_create(&pipeline, devices, n, plan, &source, NULL)
            || hcy_pipeline_run(pipeline, stack, 0, info->frames, print_curve, NULL, NULL);
    }
    if (failed)
        fprintf(stderr, "first_curve: %s\n", hcy_last_error()->text);
    hcy_pipeline_destroy(pipeline); /* NULL is fine everywhere, the order is free */
    hcy_azint_plan_release(plan);
    hcy_stack_close(stack);
    for (size_t i = 0; i < n; i++)
        hcy_device_release(devices[i]);
    hcy_list_free(devices);
    return failed;
}
