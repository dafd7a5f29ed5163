/* poni.h - what readers of geometries and of configurations say alike.  No state, any thread. */
#ifndef HCY_AZINT_PONI_H
#define HCY_AZINT_PONI_H

/* HCY_EUNSUPPORTED with the way round if `text`, the beginning of a file, is JSON of pyFAI's goniometers; else 0.
 * `name` stands for the file. */
int hcy__refuse_goniometer(const char *name, const char *text);

#endif
