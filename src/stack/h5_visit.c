/* h5_visit.c - see h5_visit.h.
 *
 * HDF5's own H5Ovisit looks each object up by its path from the start, which takes time with the cube of how deep
 * groups are in one another.  Here objects are opened by their address, and a stack of our own holds what is still to
 * be seen, so neither the machine's stack nor HDF5's names grow with the depth.
 */
#include "h5_visit.h"
#include <halcyon/backend.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 4096, MOST_OBJECTS = 1 << 20 };

#if H5_VERSION_GE(1, 12, 0)
typedef H5O_token_t address;
typedef H5L_info2_t link_info;
#define ADDRESS_OF(link)             ((link)->u.token)
#define OPEN_AT(group, address)      H5Oopen_by_token(group, address)
#define EACH_LINK(group, call, data) H5Literate2(group, H5_INDEX_NAME, H5_ITER_INC, NULL, call, data)
#else
typedef haddr_t address;
typedef H5L_info_t link_info;
#define ADDRESS_OF(link)             ((link)->u.address)
#define OPEN_AT(group, address)      H5Oopen_by_addr(group, address)
#define EACH_LINK(group, call, data) H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, call, data)
#endif

struct child {
    address at;
    char *name;
};

/* A group whose children are being looked at. */
struct level {
    struct child *children;
    size_t n, room, next;
    size_t path; /* the length of its path */
    int no_memory;
};

struct visit {
    hid_t top;
    struct level *levels;
    size_t depth;
    char *path;
    size_t path_room;
    uint64_t *seen; /* addresses, by a hash of them; 0: free */
    size_t n_seen, seen_room;
    char unread[200], why[128]; /* the first group whose links HDF5 does not read, and its words for that */
};

static int no_memory(void)
{
    return hcy_fail(HCY_ENOMEM, "no memory to look through a file's groups");
}

/* --- What was seen --- */

/* Where the key is, or would be. */
static uint64_t *seat(uint64_t *seen, size_t room, uint64_t key)
{
    /* Addresses are multiples of small powers of two; the product's upper bits differ where their lower ones do
     * not. */
    size_t i = (size_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (room - 1);
    while (seen[i] && seen[i] != key)
        i = (i + 1) & (room - 1);
    return &seen[i];
}

/* Makes more seats when half of them are taken. */
static int make_seats(struct visit *v)
{
    if (2 * v->n_seen < v->seen_room)
        return 0;
    /* A power of two, so that a mask wraps the search. */
    size_t room = v->seen_room ? 2 * v->seen_room : 1024;
    uint64_t *seen = calloc(room, sizeof *seen);
    if (!seen)
        return no_memory();
    for (size_t i = 0; i < v->seen_room; i++)
        if (v->seen[i])
            *seat(seen, room, v->seen[i]) = v->seen[i];
    free(v->seen);
    v->seen = seen;
    v->seen_room = room;
    return 0;
}

/* Notes an address; *is_new says whether it had not been noted before. */
static int note_address(int *is_new, struct visit *v, uint64_t at)
{
    int st = make_seats(v);
    /* Keys are addresses plus 1, because 0 stands for a free seat. */
    *is_new = !st && !*seat(v->seen, v->seen_room, at + 1);
    if (*is_new) {
        *seat(v->seen, v->seen_room, at + 1) = at + 1;
        v->n_seen++;
    }
    return st;
}

/* --- Groups --- */

static herr_t take_link(hid_t group, const char *name, const link_info *info, void *data)
{
    struct level *level = data;
    (void)group;
    /* What a soft or external link leads to is another's, or is found under its own name. */
    if (info->type != H5L_TYPE_HARD)
        return 0;
    if (level->n == level->room) {
        size_t room = level->room ? 2 * level->room : 8;
        struct child *children = realloc(level->children, room * sizeof *children);
        level->no_memory = !children;
        if (!children)
            return -1;
        level->children = children;
        level->room = room;
    }
    char *copy = strdup(name);
    level->no_memory = !copy;
    if (!copy)
        return -1;
    level->children[level->n++] = (struct child){ ADDRESS_OF(info), copy };
    return 0;
}

/* Notes the group that has just been entered. */
static void note_unread(struct visit *v)
{
    char top[128] = "/";
    snprintf(v->why, sizeof v->why, "%s", hcy__h5_words());
    (void)H5Iget_name(v->top, top, sizeof top);
    const char *path = v->path ? v->path : "";
    snprintf(v->unread, sizeof v->unread, "%.90s%s%.90s", top, *path && top[1] ? "/" : "", path);
}

/* A damaged group gives what can be read of it. */
static int enter_group(struct visit *v, hid_t group, const char *file)
{
    if (v->depth == MOST_DEPTH)
        return hcy_fail(HCY_ERANGE, "%s: more than %d groups are in one another; name the dataset that is wanted",
                        file, MOST_DEPTH);
    struct level *level = &v->levels[v->depth++];
    *level = (struct level){ .path = v->path ? strlen(v->path) : 0 };
    /* One that stopped in the middle has given what there is; the rest of the file is looked at all the same. */
    int all = EACH_LINK(group, take_link, level) >= 0;
    if (level->no_memory)
        return no_memory();
    if (!all && !*v->unread)
        note_unread(v);
    return 0;
}

static void leave_group(struct visit *v)
{
    struct level *level = &v->levels[--v->depth];
    for (size_t i = 0; i < level->n; i++)
        free(level->children[i].name);
    free(level->children);
}

/* Writes the path of a child to v->path. */
static int write_path(struct visit *v, const struct level *level, const char *name)
{
    /* Children of one group overwrite each other behind the group's own path. */
    size_t n = strlen(name), need = level->path + n + 2, at = level->path;
    if (need > v->path_room) {
        char *path = realloc(v->path, 2 * need);
        if (!path)
            return no_memory();
        v->path = path;
        v->path_room = 2 * need;
    }
    if (at)
        v->path[at++] = '/';
    memcpy(v->path + at, name, n + 1);
    return 0;
}

static int visit_child(struct visit *v, const struct child *child, hcy__h5_look look, void *data, const char *file)
{
    uint64_t at;
    memcpy(&at, &child->at, sizeof at); /* with which a token begins, too */
    /* Groups may be linked in circles, and an object under many names: it is seen once. */
    int is_new, st = note_address(&is_new, v, at);
    if (st || !is_new)
        return st;
    if (v->n_seen > MOST_OBJECTS)
        return hcy_fail(HCY_ERANGE, "%s has more than %d objects; name the dataset that is wanted", file, MOST_OBJECTS);
    st = write_path(v, &v->levels[v->depth - 1], child->name);
    if (st)
        return st;
    hid_t object = OPEN_AT(v->top, child->at);
    st = look(data, object, v->path);
    if (object < 0)
        return st;
    /* Its children are seen next, before its siblings: the order of H5Ovisit. */
    if (!st && H5Iget_type(object) == H5I_GROUP)
        st = enter_group(v, object, file);
    H5Oclose(object);
    return st;
}

/* The group where it begins may be linked to from below. */
static int note_top(struct visit *v)
{
    uint64_t at;
    int is_new;
    return hcy__h5_address(&at, v->top) ? 0 : note_address(&is_new, v, at);
}

int hcy__h5_visit(hid_t group, hcy__h5_look look, void *data, const char *file)
{
    struct visit v = { .top = group, .levels = malloc(MOST_DEPTH * sizeof *v.levels) };
    int st = v.levels ? note_top(&v) : no_memory();
    if (!st)
        st = enter_group(&v, group, file);
    while (!st && v.depth) {
        /* A list of levels in place of a recursion: a file's depth must not decide how much stack is used. */
        struct level *level = &v.levels[v.depth - 1];
        if (level->next < level->n)
            st = visit_child(&v, &level->children[level->next++], look, data, file);
        else
            leave_group(&v);
    }
    if (!st && *v.unread)
        st = hcy_fail_vendor(HCY_ECORRUPT, 0, v.why,
                             "%s: what its group %s holds cannot all be read: it is damaged; name the dataset "
                             "that is wanted", file, v.unread);
    /* After a failure levels are left over. */
    while (v.depth)
        leave_group(&v);
    free(v.levels);
    free(v.path);
    free(v.seen);
    return st;
}
