// Prices of European options; the cumulative normal distribution by Abramowitz and Stegun's polynomial 26.2.17.
float cnd(float d)
{
    float k = native_recip(1.0f + 0.2316419f * fabs(d));
    float tail = 0.39894228f * native_exp(-0.5f * d * d)
        * (k * (0.31938153f + k * (-0.35656378f + k * (1.78147794f + k * (-1.82125598f + k * 1.33027443f)))));
    return d > 0 ? 1.0f - tail : tail;
}

__kernel void black_scholes(__global float* call, __global float* put, __global const float* price,
                            __global const float* strike, __global const float* years, float rate, float volatility,
                            int n)
{
    int i = get_global_id(0);
    if (i >= n) return;
    float s = price[i], x = strike[i], t = years[i];
    float root = sqrt(t);
    float d1 = (native_log(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
    float d2 = d1 - volatility * root;
    float discount = native_exp(-rate * t);
    float c1 = cnd(d1), c2 = cnd(d2);
    call[i] = s * c1 - x * discount * c2;
    put[i] = x * discount * (1.0f - c2) - s * (1.0f - c1);
}
