/* scale_time.h - the time that a job takes on a number of ranks, from a machine's measured figures.
 *
 * A message of n bytes takes alpha + n / beta (Hockney; LogGP's gaps and overheads are in both).  What is
 * sent is what src/dist sends.  The rank with the most to do counts.  Pure functions.
 */
#ifndef HCY_CLI_SCALE_TIME_H
#define HCY_CLI_SCALE_TIME_H

enum scale_kind { SCALE_HALO, SCALE_REDUCTION, SCALE_TRANSPOSE, SCALE_SENSE };

struct scale_machine {
    double alpha; /* seconds of a message without bytes */
    double beta;  /* bytes a second between two ranks */
    double rate;  /* bytes a second of a rank's own memory */
    double turn;  /* of copies there with the axes in another order; infinite: there are none */
};

struct scale_job {
    enum scale_kind kind;
    double size;  /* numbers of a reduction; else the elements along each of three axes */
    double word;  /* bytes of a real number: 4 or 8 */
    double coils; /* of SENSE */
    double local; /* seconds on one rank, measured; 0: the bytes that must move, at the machine's rate */
    int is_tree;  /* a reduction is one allreduce, without the same bits for any number of ranks */
};

/* Seconds.  `hidden`: of the exchange, what goes on behind the computation. */
struct scale_time {
    double compute, exchange, hidden, total;
};

/* *time: of the job on so many ranks, 1 at least. */
void scale_time_get(struct scale_time *time, const struct scale_job *job, const struct scale_machine *machine,
                    double ranks);

#endif
