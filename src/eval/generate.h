/* generate.h - a kernel's text as it is put together: what its forms, each in a file of its own, have in common. */
#ifndef HCY_EVAL_GENERATE_H
#define HCY_EVAL_GENERATE_H

#include "room.h"

/* A text that grows; once memory is out it stays as it is. */
struct hcy__text {
    char *at;
    size_t used, room;
    int failed;
};
void hcy__put(struct hcy__text *t, const char *format, ...) HCY_PRINTF(2, 3);
const char *hcy__type_name(enum hcy_eval_type type);

/* Where element i of each operand is, p0 and so on.  `item` ends the names of an element's variables, where several
 * elements have theirs side by side; "" of a single one. */
void hcy__write_places(struct hcy__text *t, const char *item, struct hcy__form form, uint32_t n_operands);
/* The same of the element that the variable `number` names, over the first form.rank axes; `place` for p. */
void hcy__write_places_of(struct hcy__text *t, const char *item, const char *number, struct hcy__form form,
                          uint32_t n_operands, char place);

/* Steps from one to another, but those that reduce, each for all `items`, a list that NULL ends; step i makes variable
 * si, and `now` has the variable of each register. */
void hcy__write_steps(struct hcy__text *t, const char *const *items, const hcy_eval_program *p, uint32_t *now,
                      uint32_t from, uint32_t to);
extern const char *const hcy__one_item[], *const hcy__items_at_once[]; /* HCY__EVAL_AT_ONCE of them */

/* "TO = LEFT joined with RIGHT" of each of the n steps that reduce or scan.  In the names @ is a step's number r. */
void hcy__write_join(struct hcy__text *t, const hcy_eval_program *p, const hcy_eval_step *steps, const char *to,
                     const char *left, const char *right);
/* Which elements a group's items take: a piece of them all (the first group the last one, backwards), or of a span, or
 * each a part of several short spans. */
void hcy__write_piece(struct hcy__text *t, struct hcy__form form, uint32_t of_lane, bool backwards);

/* The bodies of kernels. */
void hcy__write_reduction(struct hcy__text *t, const hcy_eval_program *p, struct hcy__form form, uint32_t n_operands);
void hcy__write_columns(struct hcy__text *t, const hcy_eval_program *p, struct hcy__form form, uint32_t n_operands);
void hcy__write_scan(struct hcy__text *t, const hcy_eval_program *p, struct hcy__form form, uint32_t n_operands);

#endif
