#[test]
fn it_adds() {
    assert_eq!(draft::add(2, 2), 4);
}
