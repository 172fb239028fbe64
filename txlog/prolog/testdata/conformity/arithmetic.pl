/* cases after ISO/IEC 13211-1, 9 */

[X is 7 // -3, [[X <-- -2]]].
[X is -7 // 2, [[X <-- -3]]].
[X is -7 mod 2, [[X <-- 1]]].
[X is -7 rem 2, [[X <-- -1]]].
[X is -7 div 2, [[X <-- -4]]].
[X is 7 mod -2, [[X <-- -1]]].
[X is 10 / 5, [[X <-- 2]]].
[X is 10 / 4, [[X <-- 2.5]]].
[X is 7 / -3.5, [[X <-- -2.0]]].
[X is 1.5 * (3.2 + 11), [[X <-- 21.299999999999997]]].
[X is 0.1 + 0.2, [[X <-- 0.30000000000000004]]].
[X is 1.0e10, [[X <-- 1.0e10]]].
[X is max(2, 3.0), [[X <-- 3.0]]].
[X is truncate(-0.5), [[X <-- 0]]].
[X is round(7.5), [[X <-- 8]]].
[X is floor(-7.5), [[X <-- -8]]].
[X is ceiling(-0.5), [[X <-- 0]]].
[X is abs(-3), [[X <-- 3]]].
[X is sign(-3.0), [[X <-- -1.0]]].
[X is 2 ** 3, [[X <-- 8]]].
[X is 2 ** 3.0, [[X <-- 8.0]]].
[X is 2 ^ 10, [[X <-- 1024]]].
[X is 2 ^ -1, type_error(float, 2)].
[X is 1 << 3, [[X <-- 8]]].
[X is 19 >> 2, [[X <-- 4]]].
[X is -19 >> 2, [[X <-- -5]]].
[X is 10 /\ 12, [[X <-- 8]]].
[X is 10 \/ 12, [[X <-- 14]]].
[X is \ 10, [[X <-- -11]]].
[X is xor(10, 12), [[X <-- 6]]].
[X is float_integer_part(-2.5), [[X <-- -2.0]]].
[X is sqrt(4), [[X <-- 2.0]]].
[X is atan2(0, 1), [[X <-- 0.0]]].
[X is - 1, [[X <-- -1]]].
[X is 3 - -1, [[X <-- 4]]].
[X is 1 + a, type_error(evaluable, a/0)].
[X is foo(1), type_error(evaluable, foo/1)].
[X is _ + 1, instantiation_error].
[X is 1 / 0, evaluation_error(zero_divisor)].
[X is 1 mod 0, evaluation_error(zero_divisor)].
[X is 1 // 0, evaluation_error(zero_divisor)].
[X is 1.0 / 0, evaluation_error(zero_divisor)].
[X is log(0), evaluation_error(undefined)].
[X is sqrt(-1), evaluation_error(undefined)].
[X is 9223372036854775807 + 1, evaluation_error(int_overflow)].
[X is -9223372036854775808 - 1, evaluation_error(int_overflow)].
[X is 4611686018427387904 * 2, evaluation_error(int_overflow)].
[X is -9223372036854775808 // -1, evaluation_error(int_overflow)].
[X is -(-9223372036854775808), evaluation_error(int_overflow)].
[X is 1 << 63, evaluation_error(int_overflow)].
[X is 2.0 ** 5000, evaluation_error(float_overflow)].
[X is 1.5 mod 2, type_error(integer, 1.5)].
[1 =:= 1.0, success].
[1 < 2.5, success].
[2 >= 3, failure].
[foo < 1, type_error(evaluable, foo/0)].
[_ =:= 1, instantiation_error].
[succ(X, 4), [[X <-- 3]]].
[succ(3, X), [[X <-- 4]]].
[succ(_, 0), failure].
[plus(1, X, 3), [[X <-- 2]]].
[between(1, 3, X), [[X <-- 1], [X <-- 2], [X <-- 3]]].
[(between(1, inf, X), X > 2, !), [[X <-- 3]]].
[between(3, 1, _), failure].
[between(9223372036854775806, inf, X), [[X <-- 9223372036854775806], [X <-- 9223372036854775807]]].
