import unittest

from draft import roman


class Roman(unittest.TestCase):
    def test_signs_are_added(self):
        self.assertEqual(roman(17), "XVII")

    def test_signs_are_taken_away(self):
        self.assertEqual([roman(4), roman(9), roman(39)], ["IV", "IX", "XXXIX"])

    def test_there_is_no_zero(self):
        with self.assertRaises(ValueError):
            roman(0)


if __name__ == "__main__":
    unittest.main()
