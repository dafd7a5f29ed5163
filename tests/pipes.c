/* pipes.c - a pipe that nobody writes to, where a file is to be read: refused at once, with its name. */
#include "tap.h"

#include <fcntl.h>
#include <halcyon/host_array.h>
#include <halcyon/stack.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const suffixes[] = { "", ".h5", ".npy", ".tif", ".edf", ".cbf", ".dat", ".json", ".poni" };
enum { SUFFIXES = sizeof suffixes / sizeof suffixes[0] };

/* Every way to read `path`; how many there are. */
static int read_it(int *status, int which, const char *path)
{
    static char dataset[600];
    hcy_stack *stack;
    hcy_image *image;
    hcy_detector_info *detector;
    hcy_config *config;
    hcy_results *results;
    hcy_poni poni = HCY_PONI_INIT;
    hcy_host_array array = HCY_HOST_ARRAY_INIT;
    double *values;
    float *pixels;
    size_t n;
    switch (which) {
    case 0: *status = hcy_stack_open(&stack, path, NULL); break;
    case 1: *status = hcy_image_read(&image, path); break;
    case 2: *status = hcy_image_find(&image, path, "pixel_mask"); break;
    case 3: *status = hcy_detector_read(&detector, path); break;
    case 4: *status = hcy_config_read(&config, path); break;
    case 5: *status = hcy_results_open(&results, path); break;
    case 6: *status = hcy_poni_read(&poni, path); break;
    case 7: *status = hcy_host_array_read(&array, path); break;
    case 8: *status = hcy_numbers_read(&values, &n, path, 0); break;
    case 9: *status = hcy_images_read(&pixels, 1, 4, 4, path); break;
    case 10: *status = hcy_image_read(&image, (snprintf(dataset, sizeof dataset, "%s::/x", path), dataset)); break;
    case 11: *status = hcy_numbers_read(&values, &n, (snprintf(dataset, sizeof dataset, "%s::/x", path), dataset), 0); break;
    case 12: *status = hcy_stack_open(&stack, path, "/x"); break;
    default: return 0;
    }
    return 1;
}

/* Corrections of a stack that stand in another file: of any file that is not HDF5 there are none. */
static void test_corrections(const char *folder)
{
    static float pixels[4];
    char path[64], pipe[64];
    hcy_host_array array = HCY_HOST_ARRAY_INIT;
    hcy_stack *stack = NULL;
    hcy_corrections *c = NULL;
    snprintf(path, sizeof path, "%s/stack.npy", folder);
    snprintf(pipe, sizeof pipe, "%s/pipe.npy", folder);
    array.data = pixels;
    array.bytes = 4;
    array.rank = 2;
    array.shape[0] = array.shape[1] = 2;
    if (hcy_host_array_write(&array, path) || hcy_stack_open(&stack, path, NULL) || mkfifo(pipe, 0600))
        bail_out("no stack and pipe: %s", hcy_last_error()->text);
    int status = hcy_corrections_read(&c, stack, pipe, HCY_CORRECTION_MASK | HCY_CORRECTION_FLAT);
    ok((!status && !c->mask && !c->flat) || status == HCY_EIO, "nor those who look for a mask and a flat field: %s",
       hcy_status_name(status));
    hcy_corrections_free(c);
    hcy_stack_close(stack);
    unlink(path);
    unlink(pipe);
}

/* A writer that looks for what an HDF5 file of that name holds already: a pipe that is read holds nothing. */
static void test_writer(const char *folder)
{
    static float pixels[4];
    char pipe[64];
    hcy_host_array array = HCY_HOST_ARRAY_INIT;
    snprintf(pipe, sizeof pipe, "%s/pipe.h5", folder);
    array.data = pixels;
    array.bytes = 4;
    array.rank = 1;
    array.shape[0] = 4;
    if (mkfifo(pipe, 0600))
        bail_out("no pipe");
    int reader = open(pipe, O_RDONLY | O_NONBLOCK), status = hcy_host_array_write(&array, pipe);
    ok(status == HCY_EIO || status == HCY_EINVAL || status == HCY_EUNSUPPORTED, "nor a writer of arrays: %s, %s",
       hcy_status_name(status), hcy_last_error()->text);
    close(reader);
    unlink(pipe);
}

int main(void)
{
    char folder[] = "/tmp/halcyon-pipes-XXXXXX", path[64];
    alarm(30);
    if (!mkdtemp(folder))
        bail_out("no folder");
    for (int s = 0; s < SUFFIXES; s++) {
        snprintf(path, sizeof path, "%s/pipe%s", folder, suffixes[s]);
        if (mkfifo(path, 0600))
            bail_out("no pipe");
        int wrong = 0, status = 0;
        for (int i = 0; read_it(&status, i, path); i++)
            /* HCY_EUNSUPPORTED and HCY_EINVAL: of a name that says what cannot be read anyway */
            if ((status != HCY_EIO && status != HCY_EUNSUPPORTED && status != HCY_EINVAL) ||
                (status == HCY_EIO && !strstr(hcy_last_error()->text, "is a pipe"))) {
                diag("way %d: %s, %s", i, hcy_status_name(status), hcy_last_error()->text);
                wrong++;
            }
        ok(!wrong, "no reader waits for pipe%s", suffixes[s]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/1.tif", folder);
    if (mkfifo(path, 0600))
        bail_out("no pipe");
    snprintf(path, sizeof path, "%s/%%d.tif", folder);
    hcy_stack *stack;
    is_int(hcy_stack_open(&stack, path, NULL), HCY_EIO, "nor for one in a series");
    snprintf(path, sizeof path, "%s/1.tif", folder);
    unlink(path);
    test_corrections(folder);
    test_writer(folder);
    rmdir(folder);
    return done_testing();
}
