/* cases after ISO/IEC 13211-1, 7.8 */

[(true, X = 1), [[X <-- 1]]].
[(fail, undefined_here), failure].
[(X = 1 ; X = 2), [[X <-- 1], [X <-- 2]]].
[call((fail, 1)), type_error(callable, (fail, 1))].
[call((write(3), X)), instantiation_error].
[call(1), type_error(callable, 1)].
[call((fail, call(1))), failure].
[call((X = 1 ; 2)), type_error(callable, (X = 1 ; 2))].
[(G = (X = 1, !), (call(G) ; X = 2)), [[G <-- (X = 1, !), X <-- 1], [G <-- (2 = 1, !), X <-- 2]]].
[(X = 1, (true ; !) ; X = 2), [[X <-- 1], [X <-- 1]]].
[(X = 1, ! ; X = 2), [[X <-- 1]]].
[((X = 1 ; X = 2), (true -> true ; fail)), [[X <-- 1], [X <-- 2]]].
[(X = 1 -> Y = a ; Y = b), [[X <-- 1, Y <-- a]]].
[((X = 1 ; X = 2) -> true), [[X <-- 1]]].
[(fail -> true), failure].
[(fail -> true ; X = 2), [[X <-- 2]]].
[((! , fail) -> true ; X = 3), [[X <-- 3]]].
[((X = 1 ; X = 2) *-> true ; X = 3), [[X <-- 1], [X <-- 2]]].
[(fail *-> true ; X = 3), [[X <-- 3]]].
[\+ fail, success].
[\+ true, failure].
[\+ (X = 1), failure].
[\+ 3, type_error(callable, 3)].
[\+ (fail, 1), type_error(callable, (fail, 1))].
[\+ _, instantiation_error].
[once((X = 1 ; X = 2)), [[X <-- 1]]].
[once(3), type_error(callable, 3)].
[ignore((X = 1 ; X = 2)), [[X <-- 1]]].
[ignore(fail), success].
[(repeat, !), success].
[(repeat, !, fail), failure].
[catch(throw(a(X)), a(b), true), [[X <-- X]]].
[catch(true, _, fail), success].
[catch((X = 1, throw(b)), b, true), [[X <-- X]]].
[catch(throw(a), b, true), unexpected_ball(a)].
[catch(catch(throw(a), b, true), a, X = outer), [[X <-- outer]]].
[catch((member(X, [1, 2]), X > 1, throw(found(X))), found(Y), true), [[Y <-- 2]]].
[(catch(member(X, [1, 2]), _, fail), X > 1), [[X <-- 2]]].
[(catch(true, C, true), throw(d)), unexpected_ball(d)].
[catch(catch(member(X, [1, 2]), never, fail), E, true), [[X <-- 1], [X <-- 2]]].
[catch((catch(true, x, X = wrong), throw(x)), x, X = right), [[X <-- right]]].
[throw(_), instantiation_error].
[catch(number_codes(_, [0'3, 0' , 0'1]), error(syntax_error(_), _), true), success].
[call(','(true), fail), failure].
[call(=(X), 1), [[X <-- 1]]].
[call(plus(1), 2, X), [[X <-- 3]]].
[call(1, 2), type_error(callable, 1)].
[forall(member(X, [1, 2]), X > 0), success].
[forall(member(X, [1, 2]), X > 1), failure].
[not(fail), success].
[undefined_here(1), existence_error(procedure, undefined_here/1)].
