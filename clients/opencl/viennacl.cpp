// ViennaCL (Debian: libviennacl-dev) beside plain loops in double precision.
// c++ -O1 clients/opencl/viennacl.cpp -o viennacl -lOpenCL && ptxrun exec -- ./viennacl
// With -DHOST its own code for the processor runs in place of OpenCL.
#ifndef HOST
#define VIENNACL_WITH_OPENCL 1
#endif
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>
#include <viennacl/compressed_matrix.hpp>
#include <viennacl/coordinate_matrix.hpp>
#include <viennacl/ell_matrix.hpp>
#include <viennacl/hyb_matrix.hpp>
#include <viennacl/linalg/bicgstab.hpp>
#include <viennacl/linalg/cg.hpp>
#include <viennacl/linalg/direct_solve.hpp>
#include <viennacl/linalg/gmres.hpp>
#include <viennacl/linalg/ilu.hpp>
#include <viennacl/linalg/inner_prod.hpp>
#include <viennacl/linalg/jacobi_precond.hpp>
#include <viennacl/linalg/lu.hpp>
#include <viennacl/linalg/norm_1.hpp>
#include <viennacl/linalg/norm_2.hpp>
#include <viennacl/linalg/norm_inf.hpp>
#include <viennacl/linalg/prod.hpp>
#include <viennacl/linalg/row_scaling.hpp>
#include <viennacl/matrix.hpp>
#include <viennacl/sliced_ell_matrix.hpp>
#include <viennacl/vector.hpp>

using std::size_t;
typedef std::vector<double> Line;
typedef std::vector<Line> Table;

static int passed, total;
static std::string precision;

static void check(std::string const &name, double error, double most) {
    total++;
    if (error <= most) passed++;
    else std::printf("%s, %s: error %g\n", name.c_str(), precision.c_str(), error);
}

static double apart(Line const &a, Line const &b) {
    double error = 0, size = 0;
    for (size_t i = 0; i < b.size(); i++) error += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
    return std::sqrt(error / size);
}

template <typename T> static Line host(viennacl::vector_base<T> const &x) {
    std::vector<T> own(x.size());
    viennacl::copy(x.begin(), x.end(), own.begin());
    return Line(own.begin(), own.end());
}

static Line times(Table const &a, Line const &x) {
    Line y(a.size());
    for (size_t i = 0; i < a.size(); i++)
        for (size_t j = 0; j < x.size(); j++) y[i] += a[i][j] * x[j];
    return y;
}

template <typename T, typename Layout> static void dense(char const *layout, double most) {
    size_t n = 90, m = 70;
    std::vector<std::vector<T>> a(n, std::vector<T>(m)), b(m, std::vector<T>(n)), s(n, std::vector<T>(n));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            if (j < m) a[i][j] = T(std::sin(i + 2.0 * j)), b[j][i] = T(std::cos(3.0 * i - j));
            s[i][j] = T(i == j ? 10 + i % 5 : std::sin(double(i * j)) / 4);
        }
    Table ha(n, Line(m)), hb(m, Line(n)), hs(n, Line(n));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            if (j < m) ha[i][j] = a[i][j], hb[j][i] = b[j][i];
            hs[i][j] = s[i][j];
        }
    viennacl::matrix<T, Layout> A(n, m), B(m, n), S(n, n), C(n, n);
    viennacl::copy(a, A), viennacl::copy(b, B), viennacl::copy(s, S);
    std::vector<T> x(m), y(n);
    for (size_t i = 0; i < n; i++) {
        if (i < m) x[i] = T(1.0 / (i + 1));
        y[i] = T(i % 7 + 1);
    }
    viennacl::vector<T> X(m), Y(n), R(n), Q(m);
    viennacl::copy(x, X), viennacl::copy(y, Y);
    Line hx(x.begin(), x.end()), hy(y.begin(), y.end());
    std::string where = std::string(" ") + layout;
    R = viennacl::linalg::prod(A, X);
    check("matrix by vector" + where, apart(host(R), times(ha, hx)), most);
    Q = viennacl::linalg::prod(viennacl::trans(A), Y);
    Table turned(m, Line(n));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) turned[j][i] = ha[i][j];
    check("transposed by vector" + where, apart(host(Q), times(turned, hy)), most);
    C = viennacl::linalg::prod(A, B);
    std::vector<std::vector<T>> c(n, std::vector<T>(n));
    viennacl::copy(C, c);
    double worst = 0;
    for (size_t j = 0; j < n; j++) {
        Line column(m), got(n);
        for (size_t i = 0; i < m; i++) column[i] = hb[i][j];
        for (size_t i = 0; i < n; i++) got[i] = c[i][j];
        worst = std::max(worst, apart(got, times(ha, column)));
    }
    check("matrix by matrix" + where, worst, most);
    C = S + S;
    C -= S;
    R = viennacl::linalg::prod(C, Y);
    check("sum of matrices" + where, apart(host(R), times(hs, hy)), most);
    C = S;
    C += T(2) * viennacl::linalg::outer_prod(Y, Y);
    R = viennacl::linalg::prod(C, Y);
    Line want = times(hs, hy);
    double dot = 0;
    for (double v : hy) dot += v * v;
    for (size_t i = 0; i < n; i++) want[i] += 2 * hy[i] * dot;
    check("rank-1 update" + where, apart(host(R), want), most);
    R = viennacl::linalg::solve(S, Y, viennacl::linalg::upper_tag());
    Table upper = hs, lower = hs;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) (i > j ? upper : lower)[i][j] = i == j ? lower[i][j] : 0;
    check("upper triangle" + where, apart(times(upper, host(R)), hy), most);
    R = viennacl::linalg::solve(S, Y, viennacl::linalg::lower_tag());
    check("lower triangle" + where, apart(times(lower, host(R)), hy), most);
    C = S;
    viennacl::linalg::lu_factorize(C);
    R = Y;
    viennacl::linalg::lu_substitute(C, R);
    check("LU" + where, apart(times(hs, host(R)), hy), most);
}

template <typename T> static void vectors(double most) {
    size_t n = 5003;
    std::vector<T> a(n), b(n);
    for (size_t i = 0; i < n; i++) a[i] = T(std::sin(double(i))), b[i] = T(std::cos(i * 0.7) + 2);
    viennacl::vector<T> A(n), B(n), C(n);
    viennacl::copy(a, A), viennacl::copy(b, B);
    Line want(n);
    auto same = [&](char const *name, std::function<double(double, double)> f) {
        for (size_t i = 0; i < n; i++) want[i] = f(a[i], b[i]);
        check(name, apart(host(C), want), most);
    };
    C = A + B, same("sum", [](double x, double y) { return x + y; });
    C = A - B, same("difference", [](double x, double y) { return x - y; });
    C = T(3) * A - B / T(2), same("combination", [](double x, double y) { return 3 * x - y / 2; });
    C = A, C += T(0.5) * B, same("update", [](double x, double y) { return x + y / 2; });
    C = viennacl::linalg::element_prod(A, B), same("products", [](double x, double y) { return x * y; });
    C = viennacl::linalg::element_div(A, B), same("quotients", [](double x, double y) { return x / y; });
    C = viennacl::linalg::element_pow(B, A), same("powers", [](double x, double y) { return std::pow(y, x); });
    C = viennacl::linalg::element_exp(A), same("exp", [](double x, double) { return std::exp(x); });
    C = viennacl::linalg::element_sqrt(B), same("sqrt", [](double, double y) { return std::sqrt(y); });
    C = viennacl::linalg::element_log(B), same("log", [](double, double y) { return std::log(y); });
    C = viennacl::linalg::element_tanh(A), same("tanh", [](double x, double) { return std::tanh(x); });
    C = viennacl::linalg::element_fabs(A), same("fabs", [](double x, double) { return std::fabs(x); });
    double dot = 0, one = 0, two = 0, most_of = 0;
    for (size_t i = 0; i < n; i++) {
        dot += double(a[i]) * b[i], one += std::fabs(a[i]), two += double(a[i]) * a[i];
        most_of = std::max(most_of, std::fabs(double(a[i])));
    }
    auto number = [&](char const *name, double got, double right) {
        check(name, std::fabs(got - right) / (std::fabs(right) + std::sqrt(double(n))), most);
    };
    number("inner product", T(viennacl::linalg::inner_prod(A, B)), dot);
    number("1-norm", T(viennacl::linalg::norm_1(A)), one);
    number("2-norm", T(viennacl::linalg::norm_2(A)), std::sqrt(two));
    number("maximum norm", T(viennacl::linalg::norm_inf(A)), most_of);
    check("index of maximum", std::fabs(std::fabs(a[viennacl::linalg::index_norm_inf(A)]) - most_of), 0);
}

template <typename T> static void sparse(double most) {
    size_t n = 200;
    std::vector<std::map<unsigned, T>> h(n), even(n);
    Table all(n, Line(n)), symmetric(n, Line(n));
    for (size_t i = 0; i < n; i++) {
        h[i][i] = T(4 + i % 3), even[i][i] = T(5);
        if (i) h[i][i - 1] = -1, even[i][i - 1] = -1;
        if (i + 1 < n) h[i][i + 1] = T(-1.5), even[i][i + 1] = -1;
        if (i + 20 < n) h[i][i + 20] = T(-0.5);
        for (auto &p : h[i]) all[i][p.first] = p.second;
        for (auto &p : even[i]) symmetric[i][p.first] = p.second;
    }
    std::vector<T> b(n);
    for (size_t i = 0; i < n; i++) b[i] = T(1 + i % 7);
    Line hb(b.begin(), b.end());
    viennacl::vector<T> B(n), X(n);
    viennacl::copy(b, B);
    viennacl::compressed_matrix<T> A, E;
    viennacl::coordinate_matrix<T> A2;
    viennacl::ell_matrix<T> A3;
    viennacl::hyb_matrix<T> A4;
    viennacl::sliced_ell_matrix<T> A5;
    viennacl::copy(h, A), viennacl::copy(h, A2), viennacl::copy(h, A3), viennacl::copy(h, A4), viennacl::copy(h, A5);
    viennacl::copy(even, E);
    Line want = times(all, hb);
    X = viennacl::linalg::prod(A, B), check("CSR by vector", apart(host(X), want), most);
    X = viennacl::linalg::prod(A2, B), check("COO by vector", apart(host(X), want), most);
    X = viennacl::linalg::prod(A3, B), check("ELL by vector", apart(host(X), want), most);
    X = viennacl::linalg::prod(A4, B), check("HYB by vector", apart(host(X), want), most);
    X = viennacl::linalg::prod(A5, B), check("SELL by vector", apart(host(X), want), most);
    auto solved = [&](char const *name, Table const &of) { check(name, apart(times(of, host(X)), hb), 2e-5); };
    viennacl::linalg::cg_tag cg(1e-6, 300);
    viennacl::linalg::bicgstab_tag bicgstab(1e-6, 300);
    viennacl::linalg::gmres_tag gmres(1e-6, 300, 30);
    viennacl::linalg::jacobi_precond<viennacl::compressed_matrix<T>> jacobi(E, viennacl::linalg::jacobi_tag());
    viennacl::linalg::row_scaling<viennacl::compressed_matrix<T>> rows(A, viennacl::linalg::row_scaling_tag());
    viennacl::linalg::ilu0_precond<viennacl::compressed_matrix<T>> ilu(A, viennacl::linalg::ilu0_tag());
    X = viennacl::linalg::solve(E, B, cg), solved("CG", symmetric);
    X = viennacl::linalg::solve(E, B, cg, jacobi), solved("CG with Jacobi", symmetric);
    X = viennacl::linalg::solve(A, B, bicgstab), solved("BiCGStab", all);
    X = viennacl::linalg::solve(A, B, bicgstab, rows), solved("BiCGStab with row scaling", all);
    X = viennacl::linalg::solve(A, B, bicgstab, ilu), solved("BiCGStab with ILU0", all);
    X = viennacl::linalg::solve(A, B, gmres), solved("GMRES", all);
    X = viennacl::linalg::solve(A, B, gmres, ilu), solved("GMRES with ILU0", all);
    viennacl::matrix<T> D(n, n);
    std::vector<std::vector<T>> d(n, std::vector<T>(n));
    for (size_t i = 0; i < n; i++)
        for (auto &p : h[i]) d[i][p.first] = p.second;
    viennacl::copy(d, D);
    X = viennacl::linalg::solve(D, B, bicgstab), solved("dense BiCGStab", all);
    X = viennacl::linalg::solve(D, B, gmres), solved("dense GMRES", all);
}

template <typename T> static void run(char const *name, double most) {
    precision = name;
    vectors<T>(most);
    dense<T, viennacl::row_major>("by rows", most);
    dense<T, viennacl::column_major>("by columns", most);
    sparse<T>(most);
}

int main() {
    run<float>("single", 1e-5);
    run<double>("double", 1e-13);
    std::printf("%d of %d pass\n", passed, total);
    return passed != total;
}
