/* COLD (previous reference, mean weights) on isotropic quadratics, one run after another, in plain loops.
   The arithmetic is that of coldtheory.simulate: J steps in closed form, increments as a_k . dx. */
#include <string.h>

void cold_runs(long runs, long per_stream, long T, long d, const double *optima, const double *V, double eta,
               double delta, long J, double *x, double *dx, double *pull, double *Q, double *w, double *series)
{
    double *before = series, *after = before + runs * T, *qbar = after + runs * T, *Delta = qbar + runs * T,
           *alpha_t = Delta + runs * T, *lyapunov = alpha_t + runs * T, *cross = lyapunov + runs * T;
    for (long r = 0; r < runs; r++) {
        const double *a = optima + (r / per_stream) * T * d;
        const double v = V[r % per_stream];
        memset(x, 0, d * sizeof *x);
        memset(Q, 0, T * sizeof *Q);
        memcpy(w + r * (T + 1) * d, x, d * sizeof *x);
        for (long t = 0; t < T; t++) {
            const double *at = a + t * d;
            double sum = 0;
            memset(pull, 0, d * sizeof *pull);
            for (long k = 0; k + 1 < t; k++) {
                const double q = Q[k], *ak = a + k * d;
                sum += q;
                for (long i = 0; i < d; i++) pull[i] += q * ak[i];
            }
            const double share = t ? 1.0 / t : 0, alpha = v + share * sum;
            double left = 1;
            for (long j = 0; j < J; j++) left *= 1 - eta * alpha;
            const double f = 1 - left;
            double g0 = 0, g1 = 0, middle = 0;
            for (long i = 0; i < d; i++) {
                const double gap = x[i] - at[i];
                g0 += gap * gap;
                dx[i] = f * ((v * at[i] + share * pull[i]) / alpha - x[i]);
                middle += dx[i] * (x[i] + 0.5 * dx[i]);
                x[i] += dx[i];
                g1 += (x[i] - at[i]) * (x[i] - at[i]);
            }
            double squares = 0, lyap = 0, s = 0;
            for (long k = 0; k < t; k++) {
                const double *ak = a + k * d;
                double along = 0;
                for (long i = 0; i < d; i++) along += ak[i] * dx[i];
                const double dk = middle - along - delta;
                squares += dk * dk;
                s += Q[k] * dk;
                const double q = Q[k] + dk;
                Q[k] = q > 0 ? q : 0;
                lyap += Q[k] * Q[k];
            }
            const long at_t = r * T + t;
            const double half = t ? 0.5 / t : 0;
            before[at_t] = g0; after[at_t] = g1; qbar[at_t] = share * sum; Delta[at_t] = half * squares;
            alpha_t[at_t] = alpha; lyapunov[at_t] = half * lyap; cross[at_t] = s;
            memcpy(w + (r * (T + 1) + t + 1) * d, x, d * sizeof *x);
        }
    }
}
