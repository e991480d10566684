/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes utilities and prices with any bytes.
 *
 * What is accepted is weights that sum to 1, or prices that are numbers from 0 on; what is refused
 * says why.
 */
#include "train/train.h"
#include <math.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[256];
    size_t length = size < sizeof text ? size : sizeof text - 1;
    struct sy_utility utility;
    struct sy_prices prices = sy_prices_default();
    struct sy_error error = {0};
    memcpy(text, data, length);
    text[length] = '\0';
    if (sy_utility_parse(text, &utility, &error)) {
        SY_ASSERT(error.message[0]);
    } else {
        double sum = 0;
        for (uint32_t i = 0; i < SY_MEASURE_COUNT; i++) {
            SY_ASSERT(utility.weight[i] >= 0);
            sum += utility.weight[i];
        }
        SY_ASSERT(fabs(sum - 1) < 1e-9);
    }
    error = (struct sy_error){0};
    if (sy_prices_parse(text, &prices, &error)) {
        SY_ASSERT(error.message[0]);
        return 0;
    }
    for (uint32_t i = 0; i < SY_KIND_COUNT; i++) {
        SY_ASSERT(prices.per_hour[i] >= 0 && isfinite(prices.per_hour[i]));
    }
    return 0;
}
