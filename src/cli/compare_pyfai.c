/* compare_pyfai.c - the same frames through the pyFAI of a Python that the user names: its rate, and how far its curves
 * are from the reference.
 *
 * pyFAI runs as its users run it: integrate1d_ng with CSR tables in Cython and all threads, frame after frame, read by
 * h5py.  The mask goes there and the curves come back as plain numbers in files. */
#include "compare.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char script[] =
    "import json, logging, os, sys, time\n"
    "logging.disable(logging.CRITICAL)\n"
    "a = json.loads(sys.argv[1])\n"
    "try:\n"
    "    import h5py, hdf5plugin, numpy, pyFAI\n"
    "except ImportError as e:\n"
    "    json.dump({'error': '%s: %s' % (sys.executable, e)}, open(a['folder'] + '/pyfai.json', 'w'))\n"
    "    sys.exit()\n"
    "ai = pyFAI.load(a['poni'])\n"
    "data = h5py.File(a['stack'], 'r')[a['dataset']]\n"
    "n, bins = a['frames'], a['bins']\n"
    "mask = numpy.fromfile(a['folder'] + '/mask.bin', 'u1').reshape(data.shape[1:]).astype('int8')\n"
    "top = numpy.iinfo(data.dtype).max if data.dtype.kind in 'ui' else None\n"
    "method = (a['split'], 'csr', 'cython')\n"
    "model = None if a['errors'] == 'none' else a['errors']\n"
    "def one(i):\n"
    "    return ai.integrate1d_ng(data[i], bins, unit='q_nm^-1', mask=mask, error_model=model, method=method,\n"
    "                             dummy=top, delta_dummy=None if top is None else 1)\n"
    "out = numpy.full((n, 2, bins), numpy.nan)\n"
    "for i in range(n):\n"
    "    r = one(i)\n"
    "    out[i, 0] = r.intensity\n"
    "    if r.sigma is not None:\n"
    "        out[i, 1] = r.sigma\n"
    "out.tofile(a['folder'] + '/pyfai.bin')\n"
    "times = []\n"
    "for _ in range(a['rounds']):\n"
    "    start = time.perf_counter()\n"
    "    for i in range(n):\n"
    "        one(i)\n"
    "    times.append(time.perf_counter() - start)\n"
    "json.dump({'frames_per_s': n / min(times), 'version': pyFAI.version, 'threads': len(os.sched_getaffinity(0))},\n"
    "          open(a['folder'] + '/pyfai.json', 'w'))\n";

static int write_mask(const struct compare_job *job, size_t n)
{
    char path[320];
    snprintf(path, sizeof path, "%s/mask.bin", job->folder);
    FILE *out = fopen(path, "wb");
    int good = out && fwrite(job->mask, 1, n, out) == n;
    if (out && fclose(out))
        good = 0;
    return good ? 0 : hcy_fail(HCY_EIO, "%s cannot be written", path);
}

/* What the script has to know, and the process that becomes Python; it returns only where that failed. */
static int run_python(json_t *object, const struct compare_job *job, const void *what)
{
    static const char *const splits[] = { "no", "bbox", "full" };
    const struct compare_values *v = job->values;
    const hcy_stack_info *info = what;
    json_t *a = json_object();
    (void)object;
    int status = write_mask(job, (size_t)info->height * info->width);
    if (status)
        return status;
    value_put_text(a, "poni", v->poni);
    value_put_text(a, "stack", info->path);
    value_put_text(a, "dataset", info->dataset);
    value_put_text(a, "folder", job->folder);
    value_put(a, "frames", (double)job->n);
    value_put(a, "bins", (double)job->n_bins);
    value_put(a, "rounds", (double)v->rounds.value);
    value_put_text(a, "split", splits[v->split]);
    value_put_text(a, "errors", v->errors ? "poisson" : "none");
    char *arguments = json_dumps(a, JSON_COMPACT);
    /* The process becomes Python, so whatever it does wrong, crashes included, is this entry's alone. */
    execlp(v->python, v->python, "-c", script, arguments, (char *)NULL);
    return hcy_fail(HCY_ENOENT, "%s cannot be run: %s", v->python, strerror(errno));
}

/* The curves that the script left; those of a frame lie as ours do. */
static int read_pyfai_curves(const struct compare_job *job)
{
    char path[320];
    size_t n = 2 * job->n * job->n_bins;
    snprintf(path, sizeof path, "%s/pyfai.bin", job->folder);
    FILE *in = fopen(path, "rb");
    size_t got = in ? fread(job->curves, sizeof *job->curves, n, in) : 0;
    if (in)
        fclose(in);
    return got == n;
}

void compare_pyfai(json_t *report, const struct compare_job *job)
{
    char path[320];
    hcy_stack *stack = NULL;
    size_t n_files = 1;
    json_t *pyfai = NULL;
    const char *why = NULL;
    /* What pyFAI cannot do is told before its process is started, whose own words would be a traceback. */
    if (!job->values->poni)
        why = "pyFAI needs a geometry of its own: give -p";
    else if (compare_open(&stack, &n_files, job))
        why = hcy_last_error()->text;
    else if (n_files > 1)
        why = "the stack is of several files, and the script reads one";
    else if (!*hcy_stack_get_info(stack)->dataset)
        why = "the stack is not an HDF5 dataset, which is what the script reads";
    if (!why) {
        snprintf(path, sizeof path, "%s/pyfai.json", job->folder);
        json_t *ended = compare_apart(job, run_python, hcy_stack_get_info(stack));
        /* Python writes its result, or what it lacks, to a file and nothing to the pipe: only what ends it says why
         * there. */
        pyfai = json_load_file(path, 0, NULL);
        if (!pyfai)
            value_put_text(pyfai = json_object(), "error", value_string(ended, "error"));
        else if (read_pyfai_curves(job))
            compare_curves(pyfai, job);
        json_decref(ended);
    } else {
        value_put_text(pyfai = json_object(), "error", why);
    }
    value_put_text(pyfai, "python", job->values->python);
    json_object_set_new(report, "pyfai", pyfai);
    hcy_stack_close(stack);
}
