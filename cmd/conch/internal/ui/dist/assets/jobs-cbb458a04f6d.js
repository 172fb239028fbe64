import{a,b,c,d}from"./chunk-357cb6aaef7b.js";import"./chunk-66dddadd68ba.js";import"./chunk-0bfafd95867d.js";import"./chunk-04f893d9bf01.js";export{d as Older,a as Page,b as Rows,c as useOlder};
