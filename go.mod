module assay

go 1.26
