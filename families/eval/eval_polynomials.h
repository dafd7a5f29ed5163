/* eval_polynomials.h - made by build-aux/polynomials.py, which says how.  HELPER, f32, f64, FUSED_F32 and
 * FUSED_F64 are the dialect's. */
#ifndef HCY_EVAL_POLYNOMIALS_H
#define HCY_EVAL_POLYNOMIALS_H

/* (e^z - 1 - z)/z^2 for |z| <= ln(2)/2: 2^-61.4. */
HELPER f64 exp_polynomial(f64 z)
{
    f64 y = 2.091467944897855e-09;
    y = FUSED_F64(y, z, 2.5105206475334834e-08);
    y = FUSED_F64(y, z, 2.7557273661174726e-07);
    y = FUSED_F64(y, z, 2.75572554255029e-06);
    y = FUSED_F64(y, z, 2.4801587325533502e-05);
    y = FUSED_F64(y, z, 0.00019841269874800683);
    y = FUSED_F64(y, z, 0.0013888888888883752);
    y = FUSED_F64(y, z, 0.0083333333333261411);
    y = FUSED_F64(y, z, 0.041666666666666671);
    y = FUSED_F64(y, z, 0.16666666666666671);
    y = FUSED_F64(y, z, 0.5);
    return y;
}

/* the same for floats: 2^-32.1. */
HELPER f64 short_exp_polynomial(f64 z)
{
    f64 y = 0.00019890980964683147;
    y = FUSED_F64(y, z, 0.0013933641117472883);
    y = FUSED_F64(y, z, 0.0083333109343633558);
    y = FUSED_F64(y, z, 0.041666465005270034);
    y = FUSED_F64(y, z, 0.16666666681614342);
    y = FUSED_F64(y, z, 0.50000000134578038);
    return y;
}

/* (e^z - 1 - z - z^2/2)/z^3 for |z| <= ln(2)/2, in floats: 2^-31.2. */
HELPER f32 float_exp_polynomial(f32 z)
{
    f32 y = 0.000198930313f;
    y = FUSED_F32(y, z, 0.00139354868f);
    y = FUSED_F32(y, z, 0.00833331048f);
    y = FUSED_F32(y, z, 0.0416664593f);
    y = FUSED_F32(y, z, 0.166666672f);
    return y;
}

/* (sin(r) - r)/r^3 of z = r^2, |r| <= pi/4: 2^-57.3. */
HELPER f64 sin_polynomial(f64 z)
{
    f64 y = -7.5866970028175038e-13;
    y = FUSED_F64(y, z, 1.6058531617037152e-10);
    y = FUSED_F64(y, z, -2.5052106232435279e-08);
    y = FUSED_F64(y, z, 2.7557319219339129e-06);
    y = FUSED_F64(y, z, -0.00019841269841265065);
    y = FUSED_F64(y, z, 0.0083333333333333315);
    y = FUSED_F64(y, z, -0.16666666666666666);
    return y;
}

/* the same for floats: 2^-35.8. */
HELPER f64 short_sin_polynomial(f64 z)
{
    f64 y = 2.7249925219936031e-06;
    y = FUSED_F64(y, z, -0.000198400867308877);
    y = FUSED_F64(y, z, 0.008333331874701885);
    y = FUSED_F64(y, z, -0.16666666663855267);
    return y;
}

/* the same in floats, up to a little beyond pi/4: 2^-28.3. */
HELPER f32 float_sin_polynomial(f32 z)
{
    f32 y = 2.72475336e-06f;
    y = FUSED_F32(y, z, -0.000198400681f);
    y = FUSED_F32(y, z, 0.00833333191f);
    y = FUSED_F32(y, z, -0.166666672f);
    return y;
}

/* (cos(r) - 1 + z/2)/z^2 of z = r^2, |r| <= pi/4: 2^-60.0. */
HELPER f64 cos_polynomial(f64 z)
{
    f64 y = -1.1382632258093615e-11;
    y = FUSED_F64(y, z, 2.087614626607931e-09);
    y = FUSED_F64(y, z, -2.7557317271718644e-07);
    y = FUSED_F64(y, z, 2.4801587298765665e-05);
    y = FUSED_F64(y, z, -0.0013888888888887398);
    y = FUSED_F64(y, z, 0.041666666666666664);
    return y;
}

/* the same for floats: 2^-40.0. */
HELPER f64 short_cos_polynomial(f64 z)
{
    f64 y = -2.7300958717208805e-07;
    y = FUSED_F64(y, z, 2.4800600373403383e-05);
    y = FUSED_F64(y, z, -0.0013888887672009842);
    y = FUSED_F64(y, z, 0.041666666664321186);
    return y;
}

/* the same in floats, up to a little beyond pi/4: 2^-30.6. */
HELPER f32 float_cos_polynomial(f32 z)
{
    f32 y = 2.45459669e-05f;
    y = FUSED_F32(y, z, -0.00138882943f);
    y = FUSED_F32(y, z, 0.0416666642f);
    return y;
}

/* (2 artanh(s)/s - 2)/z of z = s^2, s <= 3 - sqrt(8): 2^-60.7. */
HELPER f64 log_polynomial(f64 z)
{
    f64 y = 0.13086626147840102;
    y = FUSED_F64(y, z, 0.13268773138656886);
    y = FUSED_F64(y, z, 0.15386239702814658);
    y = FUSED_F64(y, z, 0.18181795640132906);
    y = FUSED_F64(y, z, 0.22222222391713917);
    y = FUSED_F64(y, z, 0.28571428570803614);
    y = FUSED_F64(y, z, 0.40000000000000879);
    y = FUSED_F64(y, z, 0.66666666666666663);
    return y;
}

/* the same for floats: 2^-43.1. */
HELPER f64 short_log_polynomial(f64 z)
{
    f64 y = 0.19362653714202008;
    y = FUSED_F64(y, z, 0.22191400830308503);
    y = FUSED_F64(y, z, 0.2857175453591449);
    y = FUSED_F64(y, z, 0.39999998797337588);
    y = FUSED_F64(y, z, 0.66666666667375085);
    return y;
}

/* (2 artanh(s)/s - 2 - 2z/3 - 2z^2/5)/z^3 of that: 2^-72.1. */
HELPER f64 long_log_polynomial(f64 z)
{
    f64 y = 0.098355936609225189;
    y = FUSED_F64(y, z, 0.09459393618499165);
    y = FUSED_F64(y, z, 0.10528255189645895);
    y = FUSED_F64(y, z, 0.11764672016431912);
    y = FUSED_F64(y, z, 0.13333333679849824);
    y = FUSED_F64(y, z, 0.15384615382626701);
    y = FUSED_F64(y, z, 0.18181818181823894);
    y = FUSED_F64(y, z, 0.22222222222222215);
    y = FUSED_F64(y, z, 0.2857142857142857);
    return y;
}

/* (log(1 + z) - z + z^2/2)/z^3 for sqrt(1/2) <= 1 + z <= sqrt(2), in floats: 2^-28.4. */
HELPER f32 float_log_polynomial(f32 z)
{
    f32 y = 0.0726811662f;
    y = FUSED_F32(y, z, -0.119629264f);
    y = FUSED_F32(y, z, 0.117852554f);
    y = FUSED_F32(y, z, -0.123428062f);
    y = FUSED_F32(y, z, 0.142277449f);
    y = FUSED_F32(y, z, -0.166725963f);
    y = FUSED_F32(y, z, 0.200017244f);
    y = FUSED_F32(y, z, -0.249998972f);
    y = FUSED_F32(y, z, 0.333333224f);
    return y;
}

/* (atan(t)/t - 1)/z of z = t^2, t <= tan(pi/8): 2^-58.2. */
HELPER f64 atan_polynomial(f64 z)
{
    f64 y = 0.016285756855221028;
    y = FUSED_F64(y, z, -0.034570561981427744);
    y = FUSED_F64(y, z, 0.045515932206265493);
    y = FUSED_F64(y, z, -0.052304542706502442);
    y = FUSED_F64(y, z, 0.058789289978347752);
    y = FUSED_F64(y, z, -0.066664248857382549);
    y = FUSED_F64(y, z, 0.076922963750321427);
    y = FUSED_F64(y, z, -0.090909087535008773);
    y = FUSED_F64(y, z, 0.11111111105155447);
    y = FUSED_F64(y, z, -0.14285714285659828);
    y = FUSED_F64(y, z, 0.19999999999999804);
    y = FUSED_F64(y, z, -0.33333333333333331);
    return y;
}

/* erf(x)/x - 1 of z = x^2 - 1/2, x <= 1: 2^-56.1. */
HELPER f64 erf_polynomial(f64 z)
{
    f64 y = -4.2309458242953377e-12;
    y = FUSED_F64(y, z, 5.9589303432611366e-11);
    y = FUSED_F64(y, z, -7.7641674155891766e-10);
    y = FUSED_F64(y, z, 9.3876293109741195e-09);
    y = FUSED_F64(y, z, -1.0420476859445043e-07);
    y = FUSED_F64(y, z, 1.0536449530013862e-06);
    y = FUSED_F64(y, z, -9.6148085257095978e-06);
    y = FUSED_F64(y, z, 7.8296495254553768e-05);
    y = FUSED_F64(y, z, -0.00056118942212774413);
    y = FUSED_F64(y, z, 0.0034802744966656173);
    y = FUSED_F64(y, z, -0.018283884489152538);
    y = FUSED_F64(y, z, 0.07940998675593483);
    y = FUSED_F64(y, z, -0.28107217804543422);
    y = FUSED_F64(y, z, -0.034531261330132693);
    return y;
}

/* erfc(x) e^(x^2) of z = (x - 2)/(x + 2), 1 <= x <= 6: 2^-58.7. */
HELPER f64 erfc_polynomial(f64 z)
{
    f64 y = -1.1352571477273627e-06;
    y = FUSED_F64(y, z, 1.2725676618402281e-06);
    y = FUSED_F64(y, z, 4.0117496473250669e-06);
    y = FUSED_F64(y, z, 1.3058577122278017e-06);
    y = FUSED_F64(y, z, -1.3998283772784976e-05);
    y = FUSED_F64(y, z, -2.7562209161129353e-05);
    y = FUSED_F64(y, z, 2.7527175557227246e-05);
    y = FUSED_F64(y, z, 0.00017435947400205157);
    y = FUSED_F64(y, z, 4.3555586865754817e-05);
    y = FUSED_F64(y, z, -0.00098197694110386418);
    y = FUSED_F64(y, z, -0.00084714325299195005);
    y = FUSED_F64(y, z, 0.0069974617369715783);
    y = FUSED_F64(y, z, 0.0037328924043978336);
    y = FUSED_F64(y, z, -0.078978581015706109);
    y = FUSED_F64(y, z, 0.24165819424246585);
    y = FUSED_F64(y, z, -0.42718584741395849);
    y = FUSED_F64(y, z, 0.25539567631050575);
    return y;
}

/* (tanh(r)/r - 1)/z of z = r^2, r <= 5/8, in floats: 2^-30.4. */
HELPER f32 float_tanh_polynomial(f32 z)
{
    f32 y = 0.00233717426f;
    y = FUSED_F32(y, z, -0.00839571655f);
    y = FUSED_F32(y, z, 0.0217914544f);
    y = FUSED_F32(y, z, -0.0539637432f);
    y = FUSED_F32(y, z, 0.13333343f);
    y = FUSED_F32(y, z, -0.333333343f);
    return y;
}

/* (sinh(r)/r - 1)/z of z = r^2, r <= 1, in floats: 2^-31.2. */
HELPER f32 float_sinh_polynomial(f32 z)
{
    f32 y = 2.78169205e-06f;
    y = FUSED_F32(y, z, 0.000198429436f);
    y = FUSED_F32(y, z, 0.00833331048f);
    y = FUSED_F32(y, z, 0.166666672f);
    return y;
}

/* (atan(t)/t - 1)/z of z = t^2, t <= 1/2, in floats: 2^-29.9. */
HELPER f32 float_atan_polynomial(f32 z)
{
    f32 y = 0.0427665114f;
    y = FUSED_F32(y, z, -0.0827351063f);
    y = FUSED_F32(y, z, 0.110174678f);
    y = FUSED_F32(y, z, -0.142811492f);
    y = FUSED_F32(y, z, 0.199999511f);
    y = FUSED_F32(y, z, -0.333333343f);
    return y;
}

/* (asin(s)/s - 1)/z of z = s^2, s <= 1/2, in floats: 2^-29.9. */
HELPER f32 float_asin_polynomial(f32 z)
{
    f32 y = 0.0339287221f;
    y = FUSED_F32(y, z, 0.0169718601f);
    y = FUSED_F32(y, z, 0.0311500728f);
    y = FUSED_F32(y, z, 0.0445931107f);
    y = FUSED_F32(y, z, 0.0750012994f);
    y = FUSED_F32(y, z, 0.166666657f);
    return y;
}

/* erf(x)/x - 1 of z = x^2 - 1/2, x <= 1, in floats: 2^-28.8. */
HELPER f32 float_erf_polynomial(f32 z)
{
    f32 y = 7.83629876e-05f;
    y = FUSED_F32(y, z, -0.00056553859f);
    y = FUSED_F32(y, z, 0.00348035758f);
    y = FUSED_F32(y, z, -0.0182833057f);
    y = FUSED_F32(y, z, 0.0794099793f);
    y = FUSED_F32(y, z, -0.281072199f);
    y = FUSED_F32(y, z, -0.0345312618f);
    return y;
}

/* log(erfc(1 + z)/erfc(1))/z for z <= 2.2, in floats: 2^-30.7. */
HELPER f32 float_erfc_polynomial(f32 z)
{
    f32 y = -2.03247055e-05f;
    y = FUSED_F32(y, z, 0.000281823275f);
    y = FUSED_F32(y, z, -0.00199603382f);
    y = FUSED_F32(y, z, 0.010031756f);
    y = FUSED_F32(y, z, -0.0415576659f);
    y = FUSED_F32(y, z, -0.84310782f);
    y = FUSED_F32(y, z, -2.63896751f);
    return y;
}

#endif
