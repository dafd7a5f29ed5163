/* reader.c - halcyon-h5-reader, which reads HDF5 files in the library's place: see src/stack/isolate.h.
 *
 * It is started by the library alone, with its socket at HCY__READER_SOCKET and the arguments VERSION SECONDS BYTES,
 * and answers questions until the other end is closed.  A file may make it do anything: so it begins by giving up all
 * that reading does not need, and keeps nothing that a file could be after but the right to read files.
 */
#include "isolate.h"
#include "sandbox.h"
#include <stdlib.h>
#include <string.h>

typedef int (*answer_fn)(hcy__packet *answer, hcy__packet *question, struct hcy__opened *opened);

static answer_fn answer_to(uint64_t question)
{
    switch (question) {
    case HCY__ASK_STACK: return hcy__answer_stack;
    case HCY__ASK_FRAME: return hcy__answer_frame;
    case HCY__ASK_CORRECTIONS: return hcy__answer_corrections;
    case HCY__ASK_DETECTOR: return hcy__answer_detector;
    case HCY__ASK_NUMBERS: return hcy__answer_numbers;
    case HCY__ASK_ARRAY: return hcy__answer_array;
    case HCY__ASK_RESULTS: return hcy__answer_results;
    case HCY__ASK_ROW: return hcy__answer_row;
    case HCY__ASK_SHARD: return hcy__answer_shard;
    case HCY__ASK_TRY: return hcy__answer_try;
    default: return NULL;
    }
}

/* The status and its words come first, and then what there is to say: two packets, because the words are known last,
 * that are sent as one. */
static int send_answer(const hcy__packet *body, int st)
{
    hcy__packet first = { 0 };
    const hcy_error *error = hcy_last_error();
    if (body->bad && !st)
        st = hcy_fail(HCY_ENOMEM, "the answer does not fit the reader's memory");
    hcy__packet_put_number(&first, (uint64_t)-st);
    hcy__packet_put_text(&first, st ? error->text : NULL);
    hcy__packet_put_text(&first, st ? error->vendor : NULL);
    int number = first.bad ? -1 : hcy__packet_send(HCY__READER_SOCKET, &first, st ? NULL : body, 0);
    hcy__packet_free(&first);
    return number;
}

/* 0: the next may come. */
static int answer_one(struct hcy__opened *opened, unsigned seconds)
{
    hcy__packet question, body = { 0 };
    if (hcy__packet_receive(&question, HCY__READER_SOCKET, MOST_QUESTION, 0))
        return -1;
    limit_time(seconds);
    answer_fn answer = answer_to(hcy__packet_get_number(&question));
    int st = answer ? answer(&body, &question, opened) : hcy_fail(HCY_EABI, "a question that is not known");
    hcy__packet_free(&question);
    int number = send_answer(&body, st);
    hcy__packet_free(&body);
    return number;
}

int main(int argc, char **argv)
{
    struct hcy__opened opened = { 0 };
    hcy_isolation none = HCY_ISOLATION_INIT;
    if (argc != 4 || strcmp(argv[1], HCY_VERSION_STRING))
        return HCY__READER_OTHER_VERSION;
    /* Here files are read, whatever the environment says. */
    none.files = HCY_ISOLATE_NONE;
    if (hcy_isolation_set(&none) || enter_sandbox(strtoull(argv[3], NULL, 10)))
        return 1;
    while (!answer_one(&opened, (unsigned)strtoul(argv[2], NULL, 10)))
        continue;
    hcy_stack_close(opened.stack);
    hcy__results_forget(&opened);
    return 0;
}
