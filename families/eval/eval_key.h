/* eval_key.h - keys: unsigned words in the order of the numbers whose bits they are made of.  In C that all devices'
 * compilers take.
 *
 * Whoever includes this has defined HELPER (how a function is declared) and WORD, an unsigned type that they fit.
 */
#ifndef HCY_EVAL_KEY_H
#define HCY_EVAL_KEY_H

/* Of floats and of integers; sign: the highest bit, 0 where there is none; infinity, nan: of floats, the key that all
 * NaNs have.  Both zeros are one key, and NaNs of any sign are the last. */
HELPER WORD order_key(WORD word, int floats, WORD sign, WORD infinity, WORD nan)
{
    const WORD size = (WORD)(word & (sign - 1));
    if (!floats)
        return (WORD)(word ^ sign);
    return size > infinity ? nan : (WORD)(word & sign ? sign - size : sign + size);
}

#endif
