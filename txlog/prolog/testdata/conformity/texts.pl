/* cases after ISO/IEC 13211-1, 8.16, and 6 */

[atom_length('', N), [[N <-- 0]]].
[atom_length(été, N), [[N <-- 3]]].
[atom_length(_, _), instantiation_error].
[atom_length(1.5, _), type_error(atom, 1.5)].
[atom_concat(f(a), b, _), type_error(atom, f(a))].
[atom_concat(_, _, f(a)), type_error(atom, f(a))].
[number_chars(_, ['4', 2]), type_error(character, 2)].
[atom_length(a, b), type_error(integer, b)].
[atom_concat(a, b, X), [[X <-- ab]]].
[atom_concat(X, Y, ab), [[X <-- '', Y <-- ab], [X <-- a, Y <-- b], [X <-- ab, Y <-- '']]].
[atom_concat(X, b, ab), [[X <-- a]]].
[sub_atom(abracadabra, 0, 5, _, S), [[S <-- abrac]]].
[sub_atom(abracadabra, _, 5, 0, S), [[S <-- dabra]]].
[sub_atom(abracadabra, 3, L, 3, S), [[L <-- 5, S <-- acada]]].
[sub_atom(abab, B, 2, A, ab), [[B <-- 0, A <-- 2], [B <-- 2, A <-- 0]]].
[sub_atom(ab, B, L, A, S), [[B <-- 0, L <-- 0, A <-- 2, S <-- ''], [B <-- 0, L <-- 1, A <-- 1, S <-- a], [B <-- 0, L <-- 2, A <-- 0, S <-- ab], [B <-- 1, L <-- 0, A <-- 1, S <-- ''], [B <-- 1, L <-- 1, A <-- 0, S <-- b], [B <-- 2, L <-- 0, A <-- 0, S <-- '']]].
[sub_atom(abc, 4, _, _, _), failure].
[sub_atom(f(a), 1, _, _, _), type_error(atom, f(a))].
[atom_chars(abc, L), [[L <-- [a, b, c]]]].
[atom_chars(X, [a, b]), [[X <-- ab]]].
[atom_chars(X, ['1', '2']), [[X <-- '12']]].
[atom_chars(_, [a|_]), instantiation_error].
[atom_chars(_, [a, f(b)]), type_error(character, f(b))].
[atom_codes(X, "ab"), [[X <-- ab]]].
[char_code(X, 0'a), [[X <-- a]]].
[char_code(_, -1), representation_error(character_code)].
[number_codes(X, "12"), [[X <-- 12]]].
[number_codes(X, " 12"), [[X <-- 12]]].
[number_chars(X, ['0', '''', a]), [[X <-- 97]]].
[number_chars(X, ['1', '.', '5']), [[X <-- 1.5]]].
[catch(number_chars(_, [a]), error(syntax_error(_), _), true), success].
[atom_number('12', X), [[X <-- 12]]].
[atom_number(a, _), failure].
[X = "a", [[X <-- [97]]]].
[X = 'a\x41\b', [[X <-- aAb]]].
[X = 'it''s', [[X <-- 'it\'s']]].
[X = 0'\n, [[X <-- 10]]].
[X = 0x1F, [[X <-- 31]]].
[X = 0b101, [[X <-- 5]]].
[X = 0o17, [[X <-- 15]]].
[(X = -1, integer(X)), success].
[- 1 = -(1), success].
[integer(- 1), failure].
[-1 = -(1), failure].
[a- - 1 = a-(-(1)), success].
[[a|b] = '.'(a, b), success].
[{a, b} = '{}'((a, b)), success].
[term_to_atom(f(X, 'A b', "c"), A), success].
[term_to_atom(T, 'foo(X, bar, X)'), [[T <-- foo(A, bar, A)]]].
[catch(term_to_atom(_, 'foo('), error(syntax_error(_), _), true), success].
[catch(term_to_atom(_, 'X = Y = Z'), error(syntax_error(_), _), true), success].
[catch(term_to_atom(_, 'a :- b :- c'), error(syntax_error(_), _), true), success].
[catch(term_to_atom(_, 'X == Y = Z'), error(syntax_error(_), _), true), success].
[atomic_list_concat([a, 1, b], X), [[X <-- a1b]]].
[atomic_list_concat([a, b], '-', X), [[X <-- 'a-b']]].
[atomic_list_concat(L, '-', 'a-b-c'), [[L <-- [a, b, c]]]].
[upcase_atom(abc, X), [[X <-- 'ABC']]].
[format(atom(X), "~w and ~q~n", [a, 'B']), [[X <-- 'a and \'B\'\n']]].
[op(1201, xfx, a), domain_error(operator_priority, 1201)].
[op(30, yfy, a), domain_error(operator_specifier, yfy)].
[op(30, xfx, ','), permission_error(modify, operator, ',')].
[(op(700, xfx, ===>), current_op(P, T, ===>)), [[P <-- 700, T <-- xfx]]].
[current_op(P, xfy, ','), [[P <-- 1000]]].
