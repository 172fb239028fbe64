% What is part of every ontology. A goal may define its own predicate of one of these names instead.

append([], L, L).
append([H|T], L, [H|R]) :- append(T, L, R).

append(Ls, L) :- '$append'(Ls, L).
'$append'([], []).
'$append'([L|Ls], R) :- append(L, R1, R), '$append'(Ls, R1).

member(X, [Y|Ys]) :- '$member'(Ys, X, Y).
'$member'(_, X, X).
'$member'([Y|Ys], X, _) :- '$member'(Ys, X, Y).

memberchk(X, L) :- member(X, L), !.

reverse(L, R) :- '$reverse'(L, [], R).
'$reverse'([], R, R).
'$reverse'([H|T], A, R) :- '$reverse'(T, [H|A], R).

nth0(N, L, E) :- integer(N), !, N >= 0, '$nth'(N, L, E).
nth0(N, L, E) :- var(N), '$nth_var'(L, E, 0, N).
nth1(N, L, E) :- integer(N), !, N >= 1, M is N - 1, '$nth'(M, L, E).
nth1(N, L, E) :- var(N), '$nth_var'(L, E, 1, N).
'$nth'(0, [E|_], E) :- !.
'$nth'(N, [_|T], E) :- M is N - 1, '$nth'(M, T, E).
'$nth_var'([H|_], H, N, N).
'$nth_var'([_|T], E, M, N) :- K is M + 1, '$nth_var'(T, E, K, N).

last([X], X) :- !.
last([_|T], X) :- last(T, X).

sum_list(L, S) :- '$sum'(L, 0, S).
sumlist(L, S) :- '$sum'(L, 0, S).
'$sum'([], S, S).
'$sum'([H|T], A, S) :- B is A + H, '$sum'(T, B, S).

max_list([H|T], M) :- '$max_list'(T, H, M).
'$max_list'([], M, M).
'$max_list'([H|T], A, M) :- B is max(A, H), '$max_list'(T, B, M).
min_list([H|T], M) :- '$min_list'(T, H, M).
'$min_list'([], M, M).
'$min_list'([H|T], A, M) :- B is min(A, H), '$min_list'(T, B, M).
max_member(M, L) :- msort(L, S), last(S, M).
min_member(M, L) :- msort(L, [M|_]).
numlist(L, H, []) :- L > H, !.
numlist(L, H, [L|T]) :- M is L + 1, numlist(M, H, T).

select(X, [X|T], T).
select(X, [H|T], [H|R]) :- select(X, T, R).
selectchk(X, L, R) :- select(X, L, R), !.
select(X, L, Y, R) :- '$select4'(L, X, Y, R).
'$select4'([X|T], X, Y, [Y|T]).
'$select4'([H|T], X, Y, [H|R]) :- '$select4'(T, X, Y, R).
exclude(_, [], []).
exclude(P, [H|T], R) :- ( call(P, H) -> R = S ; R = [H|S] ), exclude(P, T, S).
include(_, [], []).
include(P, [H|T], R) :- ( call(P, H) -> R = [H|S] ; R = S ), include(P, T, S).
partition(_, [], [], []).
partition(P, [H|T], I, O) :- ( call(P, H) -> I = [H|J], O = N ; I = J, O = [H|N] ), partition(P, T, J, N).
delete([], _, []).
delete([H|T], X, R) :- ( H \= X -> R = [H|S] ; R = S ), delete(T, X, S).
subtract([], _, []).
subtract([H|T], L, R) :- ( memberchk(H, L) -> R = S ; R = [H|S] ), subtract(T, L, S).
intersection([], _, []).
intersection([H|T], L, R) :- ( memberchk(H, L) -> R = [H|S] ; R = S ), intersection(T, L, S).
union([], L, L).
union([H|T], L, R) :- ( memberchk(H, L) -> R = S ; R = [H|S] ), union(T, L, S).
list_to_set(L, S) :- '$to_set'(L, [], S).
'$to_set'([], _, []).
'$to_set'([H|T], Seen, R) :- ( '$seen'(H, Seen) -> R = S ; R = [H|S] ), '$to_set'(T, [H|Seen], S).
'$seen'(X, [Y|_]) :- X == Y, !.
'$seen'(X, [_|T]) :- '$seen'(X, T).
permutation([], []).
permutation(L, [H|T]) :- select(H, L, R), permutation(R, T).
flatten(L, F) :- '$flatten'(L, [], G), !, F = G.
'$flatten'(V, T, [V|T]) :- var(V), !.
'$flatten'([], T, T) :- !.
'$flatten'([H|R], T, F) :- !, '$flatten'(H, G, F), '$flatten'(R, T, G).
'$flatten'(A, T, [A|T]).
sumlist(L, A, S) :- '$sum'(L, A, S).
pairs_keys_values([], [], []).
pairs_keys_values([K-V|T], [K|Ks], [V|Vs]) :- pairs_keys_values(T, Ks, Vs).
pairs_keys([], []).
pairs_keys([K-_|T], [K|Ks]) :- pairs_keys(T, Ks).
pairs_values([], []).
pairs_values([_-V|T], [V|Vs]) :- pairs_values(T, Vs).
predsort(P, L, S) :- length(L, N), '$predsort'(N, P, L, _, S).
'$predsort'(0, _, L, L, []) :- !.
'$predsort'(1, _, [X|L], L, [X]) :- !.
'$predsort'(N, P, L, R, S) :- H is N // 2, K is N - H, '$predsort'(H, P, L, M, S1), '$predsort'(K, P, M, R, S2), '$predmerge'(P, S1, S2, S).
'$predmerge'(_, [], L, L) :- !.
'$predmerge'(_, L, [], L) :- !.
'$predmerge'(P, [A|As], [B|Bs], S) :- call(P, O, A, B), '$predmerge'(O, P, A, B, As, Bs, S).
'$predmerge'(<, P, A, B, As, Bs, [A|S]) :- '$predmerge'(P, As, [B|Bs], S).
'$predmerge'(>, P, A, B, As, Bs, [B|S]) :- '$predmerge'(P, [A|As], Bs, S).
'$predmerge'(=, P, A, _, As, Bs, S) :- '$predmerge'(P, [A|As], Bs, S).

maplist(_, []).
maplist(P, [A|As]) :- call(P, A), maplist(P, As).
maplist(P, As, Bs) :- '$maplist'(As, Bs, P).
'$maplist'([], [], _).
'$maplist'([A|As], [B|Bs], P) :- call(P, A, B), '$maplist'(As, Bs, P).
maplist(P, As, Bs, Cs) :- '$maplist'(As, Bs, Cs, P).
'$maplist'([], [], [], _).
'$maplist'([A|As], [B|Bs], [C|Cs], P) :- call(P, A, B, C), '$maplist'(As, Bs, Cs, P).
maplist(P, As, Bs, Cs, Ds) :- '$maplist'(As, Bs, Cs, Ds, P).
'$maplist'([], [], [], [], _).
'$maplist'([A|As], [B|Bs], [C|Cs], [D|Ds], P) :- call(P, A, B, C, D), '$maplist'(As, Bs, Cs, Ds, P).
foldl(P, L, A, Z) :- '$foldl'(L, P, A, Z).
'$foldl'([], _, Z, Z).
'$foldl'([X|Xs], P, A, Z) :- call(P, X, A, B), '$foldl'(Xs, P, B, Z).
foldl(P, Xs, Ys, A, Z) :- '$foldl'(Xs, Ys, P, A, Z).
'$foldl'([], [], _, Z, Z).
'$foldl'([X|Xs], [Y|Ys], P, A, Z) :- call(P, X, Y, A, B), '$foldl'(Xs, Ys, P, B, Z).

bagof(T, G, L) :- '$witness'(T^G, W, H), '$list_or_var'(L), '$bagof'(W, T, H, L).
'$list_or_var'(L) :- '$partial'(L), !.
'$list_or_var'(L) :- throw(error(type_error(list, L), bagof/3)).
'$partial'(L) :- var(L), !.
'$partial'([]).
'$partial'([_|T]) :- '$partial'(T).
'$bagof'([], T, G, L) :- !, findall(T, G, L), L = [_|_].
'$bagof'(W, T, G, L) :- findall(W-T, G, Ps), Ps = [_|_], keysort(Ps, Qs), '$groups'(Qs, Gs), '$one_of'(Gs, W, L).
'$one_of'([W-L], W, L) :- !.
'$one_of'([W-L|_], W, L).
'$one_of'([_|Gs], W, L) :- '$one_of'(Gs, W, L).
setof(T, G, S) :- '$list_or_var'(S), bagof(T, G, L), sort(L, S).
aggregate_all(count, G, N) :- !, findall(x, G, L), length(L, N).
aggregate_all(count(_), G, N) :- !, findall(x, G, L), length(L, N).
aggregate_all(sum(E), G, S) :- !, findall(E, G, L), sum_list(L, S).
aggregate_all(bag(E), G, L) :- !, findall(E, G, L).
aggregate_all(set(E), G, S) :- !, findall(E, G, L), sort(L, S).
aggregate_all(max(E), G, M) :- !, findall(E, G, L), '$best'(max, L, M).
aggregate_all(min(E), G, M) :- !, findall(E, G, L), '$best'(min, L, M).
'$best'(max, [H|T], M) :- ( H = _-_ -> msort([H|T], S), last(S, M) ; max_list([H|T], M) ).
'$best'(min, [H|T], M) :- ( H = _-_ -> msort([H|T], [M|_]) ; min_list([H|T], M) ).

atomic_list_concat(L, A) :- '$join'(L, '', A).
atomic_list_concat(L, S, A) :- '$known'(L), !, '$join'(L, S, A).
atomic_list_concat(L, S, A) :- '$split'(A, S, L).
'$known'(L) :- is_list(L), ground(L).
format(atom(A), F, As) :- !, '$format_atom'(F, As, A).
concat_atom(L, A) :- '$join'(L, '', A).
concat_atom(L, S, A) :- '$join'(L, S, A).

setup_call_cleanup(S, G, C) :- once(S), catch(G, E, true) -> ignore(C), ( nonvar(E) -> throw(E) ; true ) ; ignore(C), fail.
apply(P, As) :- G =.. [call, P|As], call(G).

phrase(G, L) :- phrase(G, L, []).
phrase(G, L, R) :- '$dcg_body'(G, S0, S, B), S0 = L, S = R, call(B).
dcg_translate_rule((H, P --> B), (H1 :- B1)) :- !, '$dcg_head'(H, S0, S, H1), '$dcg_body'(B, S0, S1, B0), '$dcg_terminals'(P, S, S1, B2), B1 = (B0, B2).
dcg_translate_rule((H --> B), (H1 :- B1)) :- '$dcg_head'(H, S0, S, H1), '$dcg_body'(B, S0, S, B1).
'$dcg_head'(H, S0, S, H1) :- H =.. L, append(L, [S0, S], L1), H1 =.. L1.
'$dcg_body'(V, S0, S, phrase(V, S0, S)) :- var(V), !.
'$dcg_body'((A, B), S0, S, (A1, B1)) :- !, '$dcg_body'(A, S0, S1, A1), '$dcg_body'(B, S1, S, B1).
'$dcg_body'((A ; B), S0, S, (A1 ; B1)) :- !, '$dcg_body'(A, S0, S, A1), '$dcg_body'(B, S0, S, B1).
'$dcg_body'((A -> B), S0, S, (A1 -> B1)) :- !, '$dcg_body'(A, S0, S1, A1), '$dcg_body'(B, S1, S, B1).
'$dcg_body'(\+ A, S0, S, (\+ A1, S0 = S)) :- !, '$dcg_body'(A, S0, _, A1).
'$dcg_body'({G}, S0, S, (G, S0 = S)) :- !.
'$dcg_body'(!, S0, S, (!, S0 = S)) :- !.
'$dcg_body'([], S0, S, S0 = S) :- !.
'$dcg_body'(L, S0, S, G) :- L = [_|_], !, '$dcg_terminals'(L, S0, S, G).
'$dcg_body'(call(G), S0, S, call(G, S0, S)) :- !.
'$dcg_body'(A, S0, S, A1) :- '$dcg_head'(A, S0, S, A1).
'$dcg_terminals'(L, S0, S, S0 = R) :- append(L, S, R).
