import{a,b,c,d}from"./chunk-13ed6e6ffff1.js";import"./chunk-78a8207d053b.js";import"./chunk-2299781db4d5.js";export{d as Older,a as Page,b as Rows,c as useOlder};
