import{a,b,c,d}from"./chunk-234f8010074c.js";import"./chunk-d47be59666e5.js";import"./chunk-0bfafd95867d.js";import"./chunk-04f893d9bf01.js";export{d as Older,a as Page,b as Rows,c as useOlder};
