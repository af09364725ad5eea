CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id), total INTEGER);

INSERT INTO customers VALUES (1, 'Ada'), (2, 'Grace'), (3, 'Edsger');
INSERT INTO orders VALUES (1, 1, 30), (2, 1, 12), (3, 2, 8), (4, 2, 90), (5, 2, 41), (6, 3, 7);
