/* h5_corrections.c - what an HDF5 file says of its pixels beside the frames: names of masks and flat fields, and what
 * the detector has applied already.  The images themselves are read by corrections.c.
 *
 * An energy threshold has them in a group of its own; else they stand in the NXdetector group, or where DECTRIS
 * keeps them, in its detectorSpecific. */
#include "corrections.h"
#include "h5_detector.h"
#include "h5_driver.h"
#include <ctype.h>
#include <halcyon/backend.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- Flags --- */

static int flag_of_word(const char *word)
{
    int c = tolower((unsigned char)*word);
    if (c == 't' || c == 'y' || c == '1')
        return 1;
    return c == 'f' || c == 'n' || c == '0' ? 0 : -1;
}

/* A truth as files have it: a number, a boolean (h5py's are an enumeration), a word.  -1: it says nothing. */
static int read_flag(hid_t group, const char *name)
{
    char word[16];
    unsigned char bytes[16] = { 0 };
    int flag = -1;
    hid_t data = hcy__h5_has(group, name) ? H5Dopen2(group, name, H5P_DEFAULT) : -1;
    if (data < 0)
        return -1;
    hid_t type = H5Dget_type(data), space = H5Dget_space(data);
    H5T_class_t class = H5Tget_class(type);
    if (class == H5T_STRING && !hcy__h5_text_of(word, sizeof word, group, name))
        flag = flag_of_word(word);
    else if ((class == H5T_INTEGER || class == H5T_ENUM) && H5Sget_simple_extent_npoints(space) == 1 &&
             H5Tget_size(type) <= sizeof bytes && H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0)
        /* Read as bytes, whatever its size and sign: any bit that is set makes it true. */
        for (size_t i = flag = 0; i < sizeof bytes; i++)
            flag |= bytes[i] != 0;
    H5Sclose(space);
    H5Tclose(type);
    H5Dclose(data);
    return flag;
}

/* --- Places --- */

enum { N_PLACES = 5 };

/* Groups below the detector's in which something may stand, the nearest to the channel first; how many. */
static int list_places(char places[N_PLACES][96], const char *channel)
{
    int n = 0;
    if (*channel) {
        snprintf(places[n++], 96, "%s_channel", channel);
        snprintf(places[n++], 96, "detectorSpecific/%s", channel);
        snprintf(places[n++], 96, "%s", channel);
    }
    snprintf(places[n++], 96, ".");
    snprintf(places[n++], 96, "detectorSpecific");
    return n;
}

/* The first of these places that has `name`, opened; -1. */
static hid_t open_place(const char **place, char places[N_PLACES][96], int n, hid_t detector, const char *name)
{
    for (int i = 0; i < n; i++) {
        hid_t group = hcy__h5_has(detector, places[i]) ? H5Gopen2(detector, places[i], H5P_DEFAULT) : -1;
        *place = places[i];
        /* A channel's own group comes first, since the others are of all channels. */
        if (group >= 0 && H5Lexists(group, name, H5P_DEFAULT) > 0)
            return group;
        if (group >= 0)
            H5Gclose(group);
    }
    return -1;
}

static int flag_of(char places[N_PLACES][96], int n, hid_t detector, const char *name)
{
    const char *place;
    hid_t group = open_place(&place, places, n, detector, name);
    int flag = group >= 0 ? read_flag(group, name) : -1;
    if (group >= 0)
        H5Gclose(group);
    return flag;
}

static void set_name(char name[HCY__CORRECTION_NAME], const char *detector, const char *place, const char *what)
{
    int is_here = !strcmp(place, ".");
    snprintf(name, HCY__CORRECTION_NAME, "/%s/%s%s%s", detector, is_here ? "" : place, is_here ? "" : "/", what);
}

/* pixel_mask and, as NXdetector has it, pixel_mask_1, pixel_mask_2 ... beside it: a pixel counts where none masks
 * it. */
static void find_masks(struct hcy__correction_names *names, char places[N_PLACES][96], int n, hid_t detector,
                       const char *path)
{
    const char *place;
    char more[32];
    hid_t group = open_place(&place, places, n, detector, "pixel_mask");
    if (group < 0)
        return;
    set_name(names->masks[names->n_masks++], path, place, "pixel_mask");
    for (int i = 1; i < HCY__CORRECTION_MASKS; i++) {
        snprintf(more, sizeof more, "pixel_mask_%d", i);
        if (H5Lexists(group, more, H5P_DEFAULT) > 0)
            set_name(names->masks[names->n_masks++], path, place, more);
    }
    H5Gclose(group);
}

/* Finds the first of several names that is there. */
static void find_one(char found[HCY__CORRECTION_NAME], char places[N_PLACES][96], int n, hid_t detector,
                     const char *path, const char *const *wanted)
{
    const char *place;
    for (; *wanted && !*found; wanted++) {
        hid_t group = open_place(&place, places, n, detector, *wanted);
        if (group < 0)
            continue;
        set_name(found, path, place, *wanted);
        H5Gclose(group);
    }
}

static int is_dectris(hid_t detector)
{
    char text[128];
    if (hcy__h5_text_of(text, sizeof text, detector, "description"))
        return 0;
    for (char *c = text; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return strstr(text, "dectris") != NULL;
}

static void find_corrections(struct hcy__correction_names *names, hid_t detector, const char *path, const char *channel)
{
    static const char *const flats[] = { "flatfield", NULL };
    static const char *const tables[] = { "countrate_correction_table", "countrate_correction_lookup_table", NULL };
    char places[N_PLACES][96];
    int n = list_places(places, channel), dectris = flag_of(places, n, detector, "flatfield_correction_applied");
    find_masks(names, places, n, detector, path);
    find_one(names->flat, places, n, detector, path, flats);
    find_one(names->table, places, n, detector, path, tables);
    names->mask_applied = flag_of(places, n, detector, "pixel_mask_applied");
    /* DECTRIS has its own name for the flag, and its flat fields multiply where others divide. */
    names->flat_applied = dectris >= 0 ? dectris : flag_of(places, n, detector, "flatfield_applied");
    names->countrate_applied = flag_of(places, n, detector, "countrate_correction_applied");
    names->flat_multiplies = dectris >= 0 || strstr(names->flat, "/detectorSpecific/") || is_dectris(detector);
}

/* The detector that the frames are of, or the usual name. */
static int find_detector(char path[512], hid_t file, const char *dataset, const char *name)
{
    int is_pyfai, st = hcy__h5_detector_find(path, &is_pyfai, file, dataset, name);
    if (!*path)
        snprintf(path, 512, "entry/instrument/detector");
    return st < 0 ? st : 0;
}

int hcy__h5_corrections_find(struct hcy__correction_names *names, const hcy_stack_info *stack, const char *path)
{
    const char *words;
    char group[512];
    int st = 0;
    hcy__h5_lock();
    /* A stack of other files has no such groups: that is no failure. */
    hid_t file = hcy__h5_is(path) ? hcy__h5_spy_open(path, &words) : H5I_INVALID_HID, detector = -1;
    if (file >= 0)
        st = find_detector(group, file, strcmp(path, stack->path) ? "" : stack->dataset, path);
    if (!st && file >= 0)
        detector = hcy__h5_has(file, group) ? H5Gopen2(file, group, H5P_DEFAULT) : -1;
    if (detector >= 0) {
        find_corrections(names, detector, group, stack->channel ? stack->channel_name : "");
        H5Gclose(detector);
    }
    if (file >= 0)
        H5Fclose(file);
    st = hcy__h5_judge(st, path);
    hcy__h5_unlock();
    return st;
}
