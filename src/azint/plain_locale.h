/* plain_locale.h - text files, whatever the program's locale and who wrote them: numbers have a decimal point, by a
 * thread's locale from hcy__plain_enter() to hcy__plain_leave(); some editors put a mark in front. */
#ifndef HCY_AZINT_PLAIN_LOCALE_H
#define HCY_AZINT_PLAIN_LOCALE_H

#include <locale.h>
#include <string.h>

typedef struct hcy__plain {
    locale_t plain, before; /* plain 0: there was no memory, and nothing changed */
} hcy__plain;

static inline hcy__plain hcy__plain_enter(void)
{
    hcy__plain p = { newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), (locale_t)0 };
    if (p.plain)
        p.before = uselocale(p.plain);
    return p;
}

static inline void hcy__plain_leave(hcy__plain p)
{
    if (!p.plain)
        return;
    uselocale(p.before);
    freelocale(p.plain);
}

/* The text behind the mark of UTF-8, if it begins with one. */
static inline char *hcy__after_mark(char *text)
{
    return strncmp(text, "\xef\xbb\xbf", 3) ? text : text + 3;
}

#endif
