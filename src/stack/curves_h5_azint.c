/* curves_h5_azint.c - the results of a file once more as NeXus' application definitions NXazint1d and NXazint2d have
 * them (definitions of 2025.11), with what GSAS-II's importer looks for.  All under HDF5's lock.
 *
 *   /azint              NXentry: definition, what was applied
 *   /azint/instrument   NXinstrument, with its monochromator and source
 *   /azint/reduction    NXprocess; input: NXparameters, among them those that GSAS-II asks for (unit, azimuth_bins)
 *   /azint/data         NXdata: I, I_errors and norm are links to the results, the axes are in 1/Angstrom or degrees
 *
 * The links are soft ones, so that merging copies them.  The entry's name comes before entry_0000: readers that take
 * the first entry find it. */
#include "curves_h5.h"
#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY "/azint"
#define INPUT ENTRY "/reduction/input"
#define DATA  ENTRY "/data"

/* The units that the definitions have room for, and by what they become the one that all readers know. */
static const struct axis {
    const char *unit, *word, *name, *edges, *units;
    double factor;
} axes[] = {
    { "q_nm^-1", "q", "q", "q bin edges", "1/angstrom", 0.1 },
    { "q_A^-1", "q", "q", "q bin edges", "1/angstrom", 1 },
    { "2th_deg", "2th", "2theta", "2theta bin edges", "degrees", 1 },
    { "2th_rad", "2th", "2theta", "2theta bin edges", "degrees", 180 / 3.14159265358979323846 },
};

static const struct axis *find_axis(const hcy__curves_head *head)
{
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++)
        if (!strcmp(axes[i].unit, head->plan.unit->name))
            return &axes[i];
    return NULL;
}

/* --- What describes the run --- */

/* As h5py writes a bool. */
static int put_flag(hid_t file, const char *name, int value)
{
    const signed char no = 0, yes = 1;
    hid_t type = H5Tenum_create(H5T_STD_I8LE), space = H5Screate(H5S_SCALAR);
    H5Tenum_insert(type, "FALSE", &no);
    H5Tenum_insert(type, "TRUE", &yes);
    hid_t data = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int st = data < 0 || H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value ? &yes : &no) < 0
                 ? hcy__h5_fail(HCY_EIO, "%s cannot be written", name)
                 : 0;
    if (data >= 0)
        H5Dclose(data);
    H5Sclose(space);
    H5Tclose(type);
    return st;
}

static int put_flags(hid_t file, const hcy__curves_head *head)
{
    const hcy_azint_options *o = &head->plan.options;
    const struct {
        const char *name;
        int value;
    } flags[] = {
        { ENTRY "/solid_angle_applied", o->solid_angle },
        { ENTRY "/polarization_applied", o->use_polarization },
        { ENTRY "/normalization_applied", 1 }, /* curves are means */
        /* One number for all frames is a monitor, too, as pyFAI has it. */
        { ENTRY "/monitor_applied", head->opts.monitor || o->normalization != 1 },
        { INPUT "/solid_angle", o->solid_angle },
    };
    int st = 0;
    for (size_t i = 0; !st && i < sizeof flags / sizeof flags[0]; i++)
        st = put_flag(file, flags[i].name, flags[i].value);
    return st;
}

static int put_number(hid_t file, const char *name, hid_t type, double value, const char *units)
{
    const hcy__h5_text text = { "units", units };
    return hcy__h5_put_numbers(file, name, type, 0, NULL, &value, &text, units != NULL);
}

static int put_input(hid_t file, const hcy__curves_head *head)
{
    const hcy_azint_plan_info *plan = &head->plan;
    const double angstrom = 1e10 * plan->poni.wavelength, kev = 12.398419843320026 / angstrom; /* h c / e */
    const struct {
        const char *name;
        hid_t type;
        double value;
        const char *units;
    } numbers[] = {
        { ENTRY "/instrument/monochromator/wavelength", H5T_IEEE_F64LE, angstrom, "angstrom" },
        { ENTRY "/instrument/monochromator/energy", H5T_IEEE_F64LE, kev, "keV" },
        { INPUT "/wavelength", H5T_IEEE_F64LE, angstrom, "angstrom" },
        { INPUT "/radial_bins", H5T_STD_I64LE, (double)plan->n_radial, NULL },
        { INPUT "/azimuth_bins", H5T_STD_I64LE, plan->n_azim ? (double)plan->n_azim : 1, NULL },
        { INPUT "/polarization_factor", H5T_IEEE_F64LE, plan->options.use_polarization ? plan->options.polarization : 0,
          NULL },
    };
    int st = 0;
    for (size_t i = 0; !st && i < sizeof numbers / sizeof numbers[0]; i++)
        st = put_number(file, numbers[i].name, numbers[i].type, numbers[i].value, numbers[i].units);
    return st;
}

static int put_words(hid_t file, const hcy__curves_head *head, const struct axis *axis)
{
    char date[32], poni[4096] = "";
    hcy__now_text(date);
    int st = hcy_poni_format(poni, sizeof poni, NULL, &head->plan.poni);
    /* What the definition wants and neither a PONI file nor a stack says is "unknown". */
    const hcy__h5_text words[] = {
        { ENTRY "/definition", head->plan.n_azim ? "NXazint2d" : "NXazint1d" },
        { ENTRY "/start_time", date },
        { ENTRY "/instrument/name", "unknown" },
        { ENTRY "/instrument/source/name", "unknown" },
        { ENTRY "/instrument/source/type", "unknown" },
        { ENTRY "/instrument/source/probe", "x-ray" },
        { ENTRY "/reduction/program", "halcyon" },
        { ENTRY "/reduction/version", hcy_version() },
        { ENTRY "/reduction/date", date },
        { ENTRY "/reduction/reference",
          "Integration as in pyFAI: G. Ashiotis et al., J. Appl. Cryst. 48 (2015), 510-519, "
          "https://doi.org/10.1107/S1600576715004306" },
        { ENTRY "/reduction/note", "Geometry and azimuth as in pyFAI: chi is 0 where axis 2 of the detector grows, and 90 "
                                   "degrees where axis 1 does." },
        { INPUT "/poni", poni },
        { INPUT "/unit", axis->word },
        { INPUT "/error_model", hcy__config_errors[head->plan.options.error_model] },
        { INPUT "/splitting", hcy__config_splits[head->plan.options.split] },
        { INPUT "/mask", hcy__curves_mask_words(head) },
    };
    for (size_t i = 0; !st && i < sizeof words / sizeof words[0]; i++)
        st = hcy__h5_put_field(file, words[i].name, words[i].text);
    return st;
}

/* --- Data --- */

/* Bins, or edges, in the unit that the definition's readers know. */
static int put_axis(hid_t group, const char *name, const double *bins, size_t n, double factor, const char *long_name,
                    const char *units)
{
    const hcy__h5_text texts[] = { { "long_name", long_name }, { "units", units } };
    double *values = malloc(n * sizeof *values);
    int st = values ? 0 : hcy_fail(HCY_ENOMEM, "no memory for an axis of %zu bins", n);
    for (size_t i = 0; !st && i < n; i++)
        values[i] = factor * bins[i];
    if (!st)
        st = hcy__h5_put_numbers(group, name, H5T_IEEE_F64LE, 1, (const hsize_t[]){ n }, values, texts, 2);
    free(values);
    return st;
}

/* Bins of one width have edges at equal distances. */
static int put_edges(hid_t group, const char *name, const double range[2], size_t n, double factor,
                     const char *long_name, const char *units)
{
    double *edges = malloc((n + 1) * sizeof *edges);
    if (!edges)
        return hcy_fail(HCY_ENOMEM, "no memory for an axis of %zu bins", n);
    for (size_t i = 0; i <= n; i++)
        edges[i] = range[0] + (range[1] - range[0]) * (double)i / (double)n;
    int st = put_axis(group, name, edges, n + 1, factor, long_name, units);
    free(edges);
    return st;
}

static int put_azint_axes(hid_t group, const hcy__curves_head *head, const struct axis *a)
{
    const hcy_azint_plan_info *p = &head->plan;
    const double radial[2] = { p->radial_min, p->radial_max }, azimuth[2] = { p->azimuth_min, p->azimuth_max };
    int st = put_axis(group, "radial_axis", p->radial, p->n_radial, a->factor, a->name, a->units);
    if (!st)
        st = put_edges(group, "radial_axis_edges", radial, p->n_radial, a->factor, a->edges, a->units);
    if (!st && p->n_azim)
        st = put_axis(group, "azimuthal_axis", p->azimuthal, p->n_azim, 1, "azimuthal bin center", "degrees");
    if (!st && p->n_azim)
        st = put_edges(group, "azimuthal_axis_edges", azimuth, p->n_azim, 1, "azimuthal bin edges", "degrees");
    return st;
}

static int link_results(hid_t group, const hcy__curves_head *head)
{
    static const char *const links[][2] = {
        { "I", HCY__CURVES_RESULTS "/data" },
        { "norm", HCY__CURVES_RESULTS "/norm" },
        { "I_errors", HCY__CURVES_RESULTS "/data_errors" },
    };
    size_t n = sizeof links / sizeof links[0] - !head->with_sigma;
    int st = 0;
    for (size_t i = 0; !st && i < n; i++)
        if (H5Lcreate_soft(links[i][1], group, links[i][0], H5P_DEFAULT, H5P_DEFAULT) < 0)
            st = hcy__h5_fail(HCY_EIO, "%s: the link " DATA "/%s cannot be written", head->path, links[i][0]);
    return st;
}

static int put_data(hid_t file, const hcy__curves_head *head, const struct axis *axis)
{
    static const char *const names[2][3] = { { ".", "radial_axis" }, { ".", "azimuthal_axis", "radial_axis" } };
    const int images = head->plan.n_azim > 0;
    const hcy__h5_text texts[] = { { "signal", "I" }, { "interpretation", images ? "image" : "spectrum" } };
    hid_t group = H5Gopen2(file, DATA, H5P_DEFAULT);
    int st = hcy__h5_put_texts(group, texts, 2);
    if (!st)
        st = hcy__h5_put_names(group, "axes", names[images], images ? 3 : 2);
    if (!st)
        st = put_azint_axes(group, head, axis);
    if (!st)
        st = link_results(group, head);
    H5Gclose(group);
    return st;
}

int hcy__curves_put_azint(hcy__h5_file *out, const hcy__curves_head *head)
{
    static const char *const groups[][2] = {
        { ENTRY, "NXentry" },
        { ENTRY "/instrument", "NXinstrument" },
        { ENTRY "/instrument/monochromator", "NXmonochromator" },
        { ENTRY "/instrument/source", "NXsource" },
        { ENTRY "/reduction", "NXprocess" },
        { INPUT, "NXparameters" },
        { DATA, "NXdata" },
    };
    const struct axis *axis = find_axis(head);
    int st = 0;
    /* The definitions want a wavelength, which angles can do without. */
    if (!axis || !(head->plan.poni.wavelength > 0))
        return 0;
    for (size_t i = 0; !st && i < sizeof groups / sizeof groups[0]; i++)
        st = hcy__h5_put_group(out->id, groups[i][0], groups[i][1]);
    if (!st)
        st = hcy__h5_put_text_at(out->id, ENTRY, "default", "data");
    if (!st)
        st = put_words(out->id, head, axis);
    if (!st)
        st = put_input(out->id, head);
    if (!st)
        st = put_flags(out->id, head);
    return st ? st : put_data(out->id, head, axis);
}
