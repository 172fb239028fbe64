/* cases after ISO/IEC 13211-1, 8.8 to 8.10 */

[(assertz(p(1)), assertz(p(2)), asserta(p(0))), success].
[p(X), [[X <-- 0], [X <-- 1], [X <-- 2]]].
[clause(p(X), B), [[X <-- 0, B <-- true], [X <-- 1, B <-- true], [X <-- 2, B <-- true]]].
[retract(p(1)), success].
[findall(X, p(X), L), [[L <-- [0, 2]]]].
[(retract(p(_)), fail), failure].
[p(_), failure].
[current_predicate(p/1), failure].
[assertz((q(X) :- X > 0, ! ; r)), success].
[clause(q(Y), B), [[B <-- (Y > 0, ! ; r)]]].
[q(1), success].
[assertz(_), instantiation_error].
[assertz((_ :- true)), instantiation_error].
[assertz((4 :- true)), type_error(callable, 4)].
[assertz((a :- 4)), type_error(callable, 4)].
[assertz((atom(_) :- true)), permission_error(modify, static_procedure, atom/1)].
[asserta((a, b)), permission_error(modify, static_procedure, (',')/2)].
[retract((atom(_) :- true)), permission_error(modify, static_procedure, atom/1)].
[retract(never(_)), failure].
[clause(_, _), instantiation_error].
[clause(4, _), type_error(callable, 4)].
[clause(f(_), 5), type_error(callable, 5)].
[clause(atom(_), _), permission_error(access, private_procedure, atom/1)].
[abolish(foo/a), type_error(integer, a)].
[abolish(foo/(-1)), domain_error(not_less_than_zero, -1)].
[abolish(abolish/1), permission_error(modify, static_procedure, abolish/1)].
[abolish(_), instantiation_error].
[abolish(foo), type_error(predicate_indicator, foo)].
[current_predicate(current_predicate/1), failure].
[current_predicate(q/A), [[A <-- 1]]].
[current_predicate(4), type_error(predicate_indicator, 4)].
[retractall(new(_)), success].
[new(_), failure].
[findall(X, (X = 1 ; X = 2), L), [[L <-- [1, 2]]]].
[findall(X-Y, member(X, [a, b]), [_-Z|_]), [[Z <-- Z]]].
[findall(_, _, _), instantiation_error].
[findall(_, 4, _), type_error(callable, 4)].
[findall(_, fail, [a|b]), type_error(list, [a|b])].
[findall(X, member(X, [1, 2]), L, [3]), [[L <-- [1, 2, 3]]]].
[bagof(X, (X = Y ; X = Z), L), [[L <-- [Y, Z]]]].
[bagof(X, fail, _), failure].
[bagof(1, (Y = 1 ; Y = 2), L), [[L <-- [1], Y <-- 1], [L <-- [1], Y <-- 2]]].
[bagof(X, Y^((X = 1, Y = 1) ; (X = 2, Y = 2)), S), [[S <-- [1, 2]]]].
[bagof(X, member(X-Y, [1-a, 2-b, 3-a]), L), [[Y <-- a, L <-- [1, 3]], [Y <-- b, L <-- [2]]]].
[setof(X, member(X, [b, a, b]), L), [[L <-- [a, b]]]].
[setof(X-Z, member(X-Z, [b-1, a-2]), L), [[L <-- [a-2, b-1]]]].
[bagof(_, _^_, _), instantiation_error].
[bagof(X, (Y^(X = 1 ; Y = 1) ; X = 3), _), existence_error(procedure, (^)/2)].
[(set_prolog_flag(unknown, warning), bagof(X, (Y^(X = 1 ; Y = 1) ; X = 3), S), set_prolog_flag(unknown, error)), [[S <-- [3]]]].
[set_prolog_flag(debug, no), domain_error(flag_value, debug + no)].
[bagof(_, 1, _), type_error(callable, 1)].
[aggregate_all(count, member(_, [a, b]), N), [[N <-- 2]]].
[aggregate_all(sum(X), member(X, [1, 2, 3]), N), [[N <-- 6]]].
[aggregate_all(max(X), member(X, [1, 3, 2]), N), [[N <-- 3]]].
[set_prolog_flag(unknown, maybe), domain_error(flag_value, unknown + maybe)].
[set_prolog_flag(bounded, false), permission_error(modify, flag, bounded)].
[set_prolog_flag(none, x), domain_error(prolog_flag, none)].
[current_prolog_flag(max_integer, X), [[X <-- 9223372036854775807]]].
[(append(X, [c], [a, b, c]), true), [[X <-- [a, b]]]].
[append(X, Y, [a]), [[X <-- [], Y <-- [a]], [X <-- [a], Y <-- []]]].
[reverse([a, b], L), [[L <-- [b, a]]]].
[nth0(1, [a, b], X), [[X <-- b]]].
[nth1(I, [a, b], b), [[I <-- 2]]].
[last([a, b], X), [[X <-- b]]].
[sum_list([1, 2.5], X), [[X <-- 3.5]]].
[maplist(succ, [1, 2], L), [[L <-- [2, 3]]]].
[foldl([X, A, B]^(B is A + X), [1], 0, _), existence_error(procedure, (^)/5)].
[include(atom, [a, 1, b], L), [[L <-- [a, b]]]].
[delete([a, b, a], a, L), [[L <-- [b]]]].
[subtract([a, b, c], [b], L), [[L <-- [a, c]]]].
[list_to_set([a, b, a], L), [[L <-- [a, b]]]].
[permutation([a, b], L), [[L <-- [a, b]], [L <-- [b, a]]]].
[select(X, [a, b], R), [[X <-- a, R <-- [b]], [X <-- b, R <-- [a]]]].
[flatten([a, [b, [c]], []], L), [[L <-- [a, b, c]]]].
[numlist(1, 3, L), [[L <-- [1, 2, 3]]]].
[max_list([1, 3, 2], X), [[X <-- 3]]].
[memberchk(X, [a, b]), [[X <-- a]]].
