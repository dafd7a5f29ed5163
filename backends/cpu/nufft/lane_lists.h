/* lane_lists.h - lists of lanes for vectors of LANES: LOW and HIGH half doubled, PAIRS of the first two, BLEND of two
 * vectors' halves,
 * and turned by 8, 4 and 2 within twice as many. */
#undef LOW
#undef HIGH
#undef PAIRS
#undef BLEND
#undef TURN2
#undef TURN4
#undef TURN8
#if LANES == 2
#define BLEND 0, 3
#define LOW 0, 0
#define HIGH 1, 1
#define PAIRS 0, 1
#elif LANES == 4
#define BLEND 0, 1, 6, 7
#define LOW 0, 0, 1, 1
#define HIGH 2, 2, 3, 3
#define PAIRS 0, 1, 0, 1
#define TURN2 2, 3, 0, 1
#elif LANES == 8
#define BLEND 0, 1, 2, 3, 12, 13, 14, 15
#define LOW 0, 0, 1, 1, 2, 2, 3, 3
#define HIGH 4, 4, 5, 5, 6, 6, 7, 7
#define PAIRS 0, 1, 0, 1, 0, 1, 0, 1
#define TURN2 2, 3, 0, 1, 6, 7, 4, 5
#define TURN4 4, 5, 6, 7, 0, 1, 2, 3
#elif LANES == 16
#define BLEND 0, 1, 2, 3, 4, 5, 6, 7, 24, 25, 26, 27, 28, 29, 30, 31
#define LOW 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7
#define HIGH 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15
#define PAIRS 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1
#define TURN2 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13
#define TURN4 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11
#define TURN8 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7
#endif
