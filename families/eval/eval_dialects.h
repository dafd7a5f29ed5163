/* eval_dialects.h - the languages that a generated kernel can be written in. */
#ifndef HCY_EVAL_DIALECTS_H
#define HCY_EVAL_DIALECTS_H

/* What hcy_program_create() is given, and what the text begins with. */
struct hcy__eval_dialect {
    const char *format, *options, *text;
};
extern const struct hcy__eval_dialect hcy__eval_dialects[]; /* format NULL at the end */

#endif
