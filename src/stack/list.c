/* list.c - one stack of many files, and the files that a word names: a pattern, a directory, a list.
 *
 * Each file is opened as a stack of its own, whose parts and places the first one takes over: reading knows no
 * difference.  Single-threaded, as opening is. */
#include "files.h"
#include "isolate.h"
#include <azint/plain_locale.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- One stack of many --- */

/* Frames next to one another become places, for others to follow. */
static int give_places(hcy_stack *s)
{
    hcy__location *places;
    uint64_t frames = s->info.frames;
    if (s->places)
        return 0;
    /* How large a frame is follows from what its opener found. */
    int st = hcy__stack_complete(s);
    if (st)
        return st;
    /* Adding places counts from the frames that are there, and these have none yet. */
    s->info.frames = 0;
    st = hcy__stack_add_places(&places, s, frames);
    for (uint64_t i = 0; !st && i < frames; i++)
        places[i] = (hcy__location){ .offset = s->base + i * s->info.frame_bytes, .size = s->info.frame_bytes };
    s->info.frames = frames;
    return st;
}

/* A stack has one codec and one kind of pixels. */
static int check_alike(const hcy_stack *s, const hcy_stack *next)
{
    const hcy_stack_info *a = &s->info, *b = &next->info;
    if (a->height != b->height || a->width != b->width || a->pixel_type != b->pixel_type)
        return hcy_fail(HCY_EFORMAT, "%s has frames of %u x %u %s, %s of %u x %u %s: they cannot be one stack", s->path,
                        a->height, a->width, hcy__pixel_of_type(a->pixel_type)->name, next->path, b->height, b->width,
                        hcy__pixel_of_type(b->pixel_type)->name);
    if (a->codec != b->codec || a->block_bytes != b->block_bytes)
        return hcy_fail(HCY_EFORMAT, "%s and %s are compressed in different ways: they cannot be one stack", s->path,
                        next->path);
    return 0;
}

/* The parts and places of `next`, which is left with none. */
static int take_frames(hcy_stack *s, hcy_stack *next)
{
    hcy__location *places;
    /* Until its parts are taken, a failure leaves the other stack whole. */
    int st = give_places(next);
    if (!st)
        st = hcy__note_path(&s->also, &s->n_also, next->path, s);
    if (!st)
        st = hcy__stack_add_places(&places, s, next->info.frames);
    hcy__part *parts = st ? NULL : realloc(s->parts, (s->n_parts + next->n_parts) * sizeof *parts);
    if (!st && !parts)
        st = hcy_fail(HCY_ENOMEM, "no memory for the parts of %s", s->path);
    if (st)
        return st;
    s->parts = parts;
    /* A part's frames count from the whole stack's first, and messages about it name the file that it is from. */
    for (size_t i = 0; i < next->n_parts; i++) {
        parts[s->n_parts + i] = next->parts[i];
        parts[s->n_parts + i].first += s->info.frames;
        parts[s->n_parts + i].from = s->also[s->n_also - 1];
    }
    for (uint64_t i = 0; !st && i < next->info.frames; i++) {
        /* Places name their part by its number, which moves by the parts that were there; of a frame that is absent
         * it is the number of its reason, which this stack keeps in a list of its own. */
        places[i] = next->places[i];
        places[i].part += (uint32_t)s->n_parts;
        if (places[i].flags & LOCATION_ABSENT)
            st = hcy__stack_absent(&places[i], s, next->absent[next->places[i].part]);
    }
    /* The open files are this stack's from here, even after a failure: two that close them would close another's. */
    s->n_parts += next->n_parts;
    next->n_parts = 0;
    for (size_t i = 0; !st && i < next->n_read_by_h5; i++)
        st = hcy__note_path(&s->read_by_h5, &s->n_read_by_h5, next->read_by_h5[i], s);
    s->info.frames += next->info.frames;
    s->info.direct &= next->info.direct;
    return st;
}

/* A file that cannot be read is one frame that cannot be read, as in a numbered series. */
static int take_absent(hcy_stack *s, const char *path)
{
    hcy__location *place;
    char reason[600];
    /* The message is kept now, as what follows may set another. */
    snprintf(reason, sizeof reason, "cannot be used: %.512s", hcy_last_error()->text);
    int st = hcy__stack_add_places(&place, s, 1);
    if (!st)
        st = hcy__stack_absent(place, s, reason);
    s->info.frames += !st;
    return st ? st : hcy__note_path(&s->also, &s->n_also, path, s);
}

/* A lack of memory, or options that are wrong, would be the same for every file; anything else is this file's alone, as
 * is the memory that a reader of its own lacks. */
static int concerns_all_files(int st, const hcy_isolation *own, const char *path)
{
    hcy_isolation limits;
    return st == HCY_EINVAL || (st == HCY_ENOMEM && !(hcy__isolates(&limits, own, path) && hcy__looks_like_h5(path)));
}

int hcy__list_add(hcy_stack *s, const char *path)
{
    hcy_stack_options options = HCY_STACK_OPTIONS_INIT;
    hcy_stack *next;
    options.dataset = s->wanted;
    options.channel = s->channel;
    options.isolation = s->isolation.files ? &s->isolation : NULL;
    /* Frames that lie next to one another need places before those of another file can stand behind them. */
    int st = give_places(s);
    if (st)
        return st;
    st = hcy_stack_open_with(&next, path, &options);
    if (st)
        return concerns_all_files(st, options.isolation, path) ? st : take_absent(s, path);
    st = check_alike(s, next);
    if (!st)
        st = take_frames(s, next);
    hcy_stack_close(next);
    return st;
}

int hcy__stack_sources(char **text, const hcy_stack *s)
{
    size_t size = strlen(s->path) + 1;
    *text = NULL;
    for (size_t i = 0; i < s->n_also; i++)
        size += strlen(s->also[i]) + 1;
    if (!s->n_also)
        return 0;
    *text = malloc(size);
    if (!*text)
        return hcy_fail(HCY_ENOMEM, "no memory for the files of %s", s->path);
    size_t used = (size_t)snprintf(*text, size, "%s", s->path);
    for (size_t i = 0; i < s->n_also; i++)
        used += (size_t)snprintf(*text + used, size - used, "\n%s", s->also[i]);
    return 0;
}

int hcy_stack_open_files(hcy_stack **stack, const char *const *paths, size_t n, const hcy_stack_options *options)
{
    if (!stack || !paths || !n)
        return hcy_fail(HCY_EINVAL, "hcy_stack_open_files: no place for the stack, or no files");
    int st = hcy_stack_open_with(stack, paths[0], options);
    if (st || n == 1)
        return st;
    hcy_stack *s = *stack;
    /* A file that grows would push the frames of those behind it to other numbers. */
    if (s->growing)
        st = hcy_fail(HCY_EINVAL, "%zu files cannot be followed while they grow; name one stack, or a series", n);
    for (size_t i = 1; !st && i < n; i++)
        st = hcy__list_add(s, paths[i]);
    if (!st)
        st = hcy__stack_complete(s);
    if (st) {
        /* Closing may set another error, and the caller is to hear the first. */
        hcy_error why = *hcy_last_error();
        hcy_stack_close(s);
        *stack = NULL;
        return hcy_fail_again(&why);
    }
    return 0;
}

/* --- The files that a word names --- */

struct names {
    char **at;
    size_t n, room;
};

static int add_name(struct names *names, const char *folder, const char *name)
{
    if (names->n == names->room) {
        size_t room = names->room ? 2 * names->room : 64;
        char **more = realloc(names->at, room * sizeof *more);
        if (!more)
            return hcy_fail(HCY_ENOMEM, "no memory for the names of files");
        names->at = more;
        names->room = room;
    }
    size_t size = (folder ? strlen(folder) + 1 : 0) + strlen(name) + 1;
    char *path = malloc(size);
    if (!path)
        return hcy_fail(HCY_ENOMEM, "no memory for the names of files");
    snprintf(path, size, "%s%s%s", folder ? folder : "", folder ? "/" : "", name);
    names->at[names->n++] = path;
    return 0;
}

/* As people count: img_2 before img_10. */
static int compare_names(const void *left, const void *right)
{
    const char *a = *(const char *const *)left, *b = *(const char *const *)right;
    while (*a && *b) {
        size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
        if (n && m) {
            const char *p = a + strspn(a, "0"), *q = b + strspn(b, "0");
            size_t i = (size_t)(a + n - p), j = (size_t)(b + m - q);
            /* Without zeros in front the longer number is the larger one. */
            int order = i != j ? (i < j ? -1 : 1) : memcmp(p, q, i);
            if (order)
                return order;
            a += n;
            b += m;
        } else if (*a != *b) {
            break;
        } else {
            a++;
            b++;
        }
    }
    /* Names that differ in zeros alone still need an order, or sorting would not always give the same one. */
    return *a != *b ? ((unsigned char)*a < (unsigned char)*b ? -1 : 1)
                    : strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), e = strlen(end);
    return n > e && !strcmp(name + n - e, end);
}

/* Files of a directory that are images by their suffix, or stacks of them. */
static int is_stack_name(const char *name)
{
    static const char *const ends[] = { ".tif", ".tiff", ".edf", ".cbf", ".npy", ".npz", ".h5", ".hdf5", ".nxs",
                                        ".edf.gz", ".cbf.gz" };
    int is = 0;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0] && *name != '.'; i++)
        is |= ends_with(name, ends[i]);
    return is;
}

/* What stands behind the name of the measurement in that of a data file; NULL: it is none. */
static const char *find_data_part(const char *path)
{
    const char *slash = strrchr(path, '/'), *at = strstr(slash ? slash : path, "_data_"), *last = at;
    while ((at = at ? strstr(at + 1, "_data_") : NULL))
        last = at;
    return last;
}

/* The directory's own detectors: data files that a master file beside them has anyway are left out. */
static void leave_out_data_files(struct names *names)
{
    size_t kept = 0;
    for (size_t i = 0; i < names->n; i++) {
        const char *data = find_data_part(names->at[i]);
        int has_master = 0;
        /* Names that were left out are NULL already, and are not looked at again. */
        for (size_t k = 0; data && ends_with(names->at[i], ".h5") && k < names->n; k++)
            has_master |= names->at[k] && !strncmp(names->at[k], names->at[i], (size_t)(data - names->at[i])) &&
                          !strcmp(names->at[k] + (data - names->at[i]), "_master.h5");
        if (has_master) {
            free(names->at[i]);
            names->at[i] = NULL;
        }
    }
    for (size_t i = 0; i < names->n; i++)
        if (names->at[i])
            names->at[kept++] = names->at[i];
    names->n = kept;
}

static int list_directory(struct names *names, const char *path)
{
    char words[128], folder[4096];
    DIR *dir = opendir(path);
    if (!dir)
        return hcy_fail(HCY_EIO, "%s: the folder cannot be read: %s", path,
                        hcy__errno_text(errno, words, sizeof words));
    int st = 0;
    size_t n = strlen(path);
    /* A path with two slashes would be another name of the same file, which results would then tell. */
    while (n > 1 && path[n - 1] == '/')
        n--;
    snprintf(folder, sizeof folder, "%.*s", (int)n, path);
    /* A folder that fails in the middle would lose files: its end alone leaves errno as it was. */
    errno = 0;
    for (struct dirent *entry; !st && (entry = readdir(dir)); errno = 0)
        if (is_stack_name(entry->d_name))
            st = add_name(names, folder, entry->d_name);
    int number = st ? 0 : errno;
    closedir(dir);
    if (number)
        st = hcy_fail(HCY_EIO, "%s: the folder cannot be read: %s", path, hcy__errno_text(number, words, sizeof words));
    if (!st && names->n) {
        qsort(names->at, names->n, sizeof *names->at, compare_names);
        leave_out_data_files(names);
    }
    if (!st && !names->n)
        st = hcy_fail(HCY_ENOENT, "%s: no file in this folder is a stack or an image by its suffix", path);
    return st;
}

/* A path a line; blanks around it, empty lines and those that begin with # are left out. */
static int read_list(struct names *names, const char *path)
{
    char words[128], line[4096];
    FILE *file = fopen(path, "r");
    if (!file)
        return hcy_fail(HCY_ENOENT, "the list %s cannot be opened: %s", path,
                        hcy__errno_text(errno, words, sizeof words));
    int st = 0;
    for (int is_first = 1; !st && fgets(line, sizeof line, file); is_first = 0) {
        char *at = is_first ? hcy__after_mark(line) : line;
        at += strspn(at, " \t");
        size_t n = strcspn(at, "\r\n");
        /* Without its end in the buffer the line would go on as a second path. */
        if (!at[n] && n >= sizeof line - 2 - (size_t)(at - line))
            st = hcy_fail(HCY_ERANGE, "%s: a line is longer than a path can be", path);
        while (n && (at[n - 1] == ' ' || at[n - 1] == '\t'))
            n--;
        at[n] = 0;
        if (!st && *at && *at != '#')
            st = add_name(names, NULL, at);
    }
    if (!st && ferror(file))
        st = hcy_fail(HCY_EIO, "the list %s cannot be read", path);
    fclose(file);
    return st || names->n ? st : hcy_fail(HCY_EFORMAT, "the list %s names no file", path);
}

static int match_pattern(struct names *names, const char *pattern)
{
    glob_t found = { 0 };
    int got = glob(pattern, GLOB_NOSORT, NULL, &found), st = 0;
    if (got == GLOB_NOSPACE)
        st = hcy_fail(HCY_ENOMEM, "no memory for the files of %s", pattern);
    for (size_t i = 0; !st && !got && i < found.gl_pathc; i++)
        st = add_name(names, NULL, found.gl_pathv[i]);
    globfree(&found);
    if (!st && !names->n)
        return hcy_fail(HCY_ENOENT, "%s: there is no such file", pattern);
    if (!st)
        qsort(names->at, names->n, sizeof *names->at, compare_names);
    return st;
}

/* Texts behind their pointers in one piece of memory. */
static int pack_names(char ***paths, const struct names *names)
{
    size_t size = (names->n + 1) * sizeof **paths;
    for (size_t i = 0; i < names->n; i++)
        size += strlen(names->at[i]) + 1;
    *paths = malloc(size);
    if (!*paths)
        return hcy_fail(HCY_ENOMEM, "no memory for the names of files");
    char *to = (char *)(*paths + names->n + 1);
    for (size_t i = 0; i < names->n; i++) {
        (*paths)[i] = strcpy(to, names->at[i]);
        to += strlen(to) + 1;
    }
    (*paths)[names->n] = NULL;
    return 0;
}

int hcy_files_find(char ***paths, size_t *n, const char *word)
{
    struct names names = { 0 };
    struct stat is;
    int st, there;
    if (!paths || !n || !word)
        return hcy_fail(HCY_EINVAL, "hcy_files_find: no argument may be NULL");
    *paths = NULL;
    *n = 0;
    there = !stat(word, &is);
    /* A file is itself, whatever its name looks like. */
    if (there && S_ISDIR(is.st_mode))
        st = list_directory(&names, word);
    else if (!there && *word == '@')
        st = read_list(&names, word + 1);
    else if (!there && strpbrk(word, "*?["))
        st = match_pattern(&names, word);
    else
        st = add_name(&names, NULL, word);
    if (!st)
        st = pack_names(paths, &names);
    *n = st ? 0 : names.n;
    for (size_t i = 0; i < names.n; i++)
        free(names.at[i]);
    free(names.at);
    return st;
}
