/* Hop load and HPCC++ of draft-miao-ccwg-hpcc-03 lines 1-27, for bench_cc.py to compare with.

   Telemetry is (kind, hop, row), as pipeline/cc/hop_record.py has it. */

#include <math.h>
#include <stdint.h>

enum { TS, TX, QLEN, B, NODE, PORT };

struct sender {
    double U, W, Wc, R, T, W_init, W_ai;
    int64_t last_update;
    uint64_t path;
    int32_t stage, nhop, started;
    int64_t L[12][3];
};

void hpcc_loop(struct sender *senders, const int64_t *which, const int64_t *told, int64_t hops,
               int64_t rows, const int64_t *ack, const int64_t *snd_nxt, double eta,
               int32_t max_stage, double *u_out, double *u_kept)
{
    for (int64_t at = 0; at < rows; at++) {
        struct sender *s = &senders[which[at]];
        uint64_t path = (uint64_t)hops;
        for (int64_t i = 0; i < hops; i++) {
            uint64_t word = (uint64_t)told[(NODE * hops + i) * rows + at] << 32
                            ^ (uint64_t)told[(PORT * hops + i) * rows + at];
            word = (word ^ word >> 29) * (0xD6E8FEB86659FD93u + (uint64_t)i * 0xA0761D6478BD642Eu);
            path += word ^ word >> 32;
        }
        if (path != s->path)
            s->nhop = 0;
        s->path = path;
        int known = s->started && s->nhop == hops, measured = 0;
        double u_max = 0, tau_max = 0;
        for (int64_t i = 0; i < hops; i++) {
            int64_t ts = told[(TS * hops + i) * rows + at], tx = told[(TX * hops + i) * rows + at];
            int64_t queue = told[(QLEN * hops + i) * rows + at], b = told[(B * hops + i) * rows + at];
            int64_t tau = ts - s->L[i][TS], sent = tx - s->L[i][TX];
            int64_t qlen = queue < s->L[i][QLEN] ? queue : s->L[i][QLEN];
            int absent = ts == -1 || s->L[i][TS] == -1 || tx == -1 || s->L[i][TX] == -1;
            u_out[i * rows + at] = NAN;
            if (known && !absent && qlen >= 0 && b > 0 && tau > 0 && sent >= 0) {
                double rate = (double)sent * 8 / ((double)tau * 1e-9);
                double u = (double)(8 * qlen) / ((double)b * (s->T * 1e-9)) + rate / (double)b;
                u_out[i * rows + at] = u;
                measured = 1;
                if (u > u_max) {
                    u_max = u;
                    tau_max = (double)tau;
                }
            }
            s->L[i][TS] = ts;
            s->L[i][TX] = tx;
            s->L[i][QLEN] = queue;
        }
        s->nhop = (int32_t)hops;
        if (!s->started) {
            s->started = 1;
            s->last_update = snd_nxt[at];
        } else if (measured) {
            if (tau_max > 0) {
                double tau = tau_max < s->T ? tau_max : s->T;
                s->U = (1 - tau / s->T) * s->U + tau / s->T * u_max;
            }
            int full = ack[at] > s->last_update;
            double w;
            int32_t stage = 0;
            if (s->U >= eta || s->stage >= max_stage) {
                w = s->Wc / (s->U / eta) + s->W_ai;
            } else {
                w = s->Wc + s->W_ai;
                stage = s->stage + 1;
            }
            s->W = w < s->W_init ? w : s->W_init;
            s->W = s->W > 0 ? s->W : 0;
            s->R = 8 * s->W / (s->T * 1e-9);
            if (full) {
                s->stage = stage;
                s->Wc = s->W;
                if (snd_nxt[at] > s->last_update)
                    s->last_update = snd_nxt[at];
            }
        }
        u_kept[at] = s->U;
    }
}
