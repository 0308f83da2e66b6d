float cnd(float d)
{
    float k = 1 / (1 + 0.2316419f * fabs(d));
    float c = 0.39894228f * exp(-0.5f * d * d)
            * (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return d > 0 ? 1 - c : c;
}

kernel void black_scholes(global const float *price, global const float *strike, global const float *years,
                          global float *call, global float *put)
{
    int i = get_global_id(0);
    float s = 5 + 25 * price[i], x = 1 + 99 * strike[i], t = 0.25f + 9.75f * years[i];
    float root = sqrt(t), d1 = (log(s / x) + (0.02f + 0.045f) * t) / (0.3f * root), d2 = d1 - 0.3f * root;
    float c1 = cnd(d1), c2 = cnd(d2), e = exp(-0.02f * t);
    call[i] = s * c1 - x * e * c2;
    put[i] = x * e * (1 - c2) - s * (1 - c1);
}
