/* cases after ISO/IEC 13211-1, 8.2 to 8.5 */

[f(X, 1) = f(a, Y), [[X <-- a, Y <-- 1]]].
[f(_) = f(_, _), failure].
[f(X, Y, X) = f(a(Y), b, a(b)), [[X <-- a(b), Y <-- b]]].
[1 = 1.0, failure].
[unify_with_occurs_check(X, f(X)), failure].
[unify_with_occurs_check(f(X, Y), f(Y, a)), [[X <-- a, Y <-- a]]].
[subsumes_term(f(_), f(a)), success].
[subsumes_term(f(a), f(_)), failure].
[subsumes_term(f(X, X), f(Y, Z)), failure].
[f(a) \= f(b), success].
[var(_), success].
[callable((a :- b)), success].
[callable(3), failure].
[atomic(3.5), success].
[compound([]), failure].
[compound([a]), success].
[is_list([a|_]), failure].
[ground(f(a, [b])), success].
[ground(f(a, _)), failure].
[1.0 @< 1, success].
[compare(O, 1, 1.0), [[O <-- >]]].
[compare(O, f(a), g), [[O <-- >]]].
[compare(O, g(a), f(a, b)), [[O <-- <]]].
[compare(x, 1, 2), domain_error(order, x)].
[compare(1, 1, 2), type_error(atom, 1)].
[msort([f(a), Z, 1, a, 1.0, f(a, b), 1], L), [[L <-- [Z, 1.0, 1, 1, a, f(a), f(a, b)]]]].
[sort([c, a, b, a], L), [[L <-- [a, b, c]]]].
[sort([a|_], _), instantiation_error].
[sort(a, _), type_error(list, a)].
[sort(0, @>=, [1, 3, 2, 3], L), [[L <-- [3, 3, 2, 1]]]].
[sort(1, @<, [f(2, a), f(1, b), f(2, c)], L), [[L <-- [f(1, b), f(2, a)]]]].
[keysort([b-1, a-2, b-0, a-1], L), [[L <-- [a-2, a-1, b-1, b-0]]]].
[keysort([a], _), type_error(pair, a)].
[predsort(compare, [c, a, b, a], L), [[L <-- [a, b, c]]]].
[functor(f(a, b), N, A), [[N <-- f, A <-- 2]]].
[functor(1.5, N, A), [[N <-- 1.5, A <-- 0]]].
[functor(T, f, 2), [[T <-- f(_, _)]]].
[functor(T, f, 0), [[T <-- f]]].
[functor(_, _, 3), instantiation_error].
[functor(_, f(a), 1), type_error(atomic, f(a))].
[functor(_, f, -1), domain_error(not_less_than_zero, -1)].
[functor(_, 1.5, 1), type_error(atom, 1.5)].
[functor(_, f, 100000000), representation_error(max_arity)].
[arg(1, f(a, b), X), [[X <-- a]]].
[arg(0, f(a), _), failure].
[arg(3, f(a), _), failure].
[arg(_, f(a, b), _), instantiation_error].
[arg(_, a, _), type_error(compound, a)].
[arg(-1, f(a), _), domain_error(not_less_than_zero, -1)].
[f(a, b) =.. L, [[L <-- [f, a, b]]]].
[T =.. [f, a], [[T <-- f(a)]]].
[T =.. [1.5], [[T <-- 1.5]]].
[_ =.. [_|_], instantiation_error].
[_ =.. [f|a], type_error(list, [f|a])].
[_ =.. [f(a), b], type_error(atom, f(a))].
[_ =.. [], domain_error(non_empty_list, [])].
[copy_term(f(X, Y, X), T), [[T <-- f(A, B, A)]]].
[term_variables(f(X, g(Y), X), L), [[L <-- [X, Y]]]].
[length([a, b], N), [[N <-- 2]]].
[length(L, 2), [[L <-- [_, _]]]].
[length(_, -1), domain_error(not_less_than_zero, -1)].
[length(a, _), type_error(list, a)].
[length([a|T], 2), [[T <-- [_]]]].
