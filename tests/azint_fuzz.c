/* Fuzz target: a PONI file of any bytes is read or refused; what was read is written and read again to the
 * same, and makes a plan of a small image or a message.  Corpus: the PONI files of the test data. */
#include <halcyon/azint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_poni poni = HCY_PONI_INIT, again = HCY_PONI_INIT;
    hcy_azint_plan *plan = NULL;
    char text[2048];

    if (hcy_poni_parse(&poni, (const char *)data, size, "fuzz"))
        return 0;
    if (hcy_poni_format(text, sizeof text, NULL, &poni) ||
        hcy_poni_parse(&again, text, strlen(text), "again") || again.dist != poni.dist ||
        again.rot3 != poni.rot3 || again.detector != poni.detector)
        __builtin_trap();
    o.npt = 50;
    o.threads = 1;
    o.split = (int)(size % 3);
    if (!hcy_azint_plan_create(&plan, &poni, poni.height && poni.height < 64 ? poni.height : 20,
                               poni.width && poni.width < 64 ? poni.width : 21, &o))
        hcy_azint_plan_release(plan);
    return 0;
}
