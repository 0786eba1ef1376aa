//! An image's contents as an SPDX 2.3 document in JSON; pure, the same bytes for the same image.

use super::read::Package;
use aifo_shim::json::Json;

use crate::images::table::VERSION;

/// What the document is about.
#[derive(Debug)]
pub(super) struct Subject<'a> {
    pub(super) reference: &'a str,
    /// Its id, which is a sum of its configuration.
    pub(super) id: &'a str,
    /// When it was made: not when this was written, so that it is written the same again.
    pub(super) created: &'a str,
}

/// The document. `packages` are sorted and each is there once.
pub(super) fn document(subject: &Subject<'_>, packages: &[Package]) -> Json {
    let sum = subject.id.trim_start_matches("sha256:");
    let name = |at: usize| format!("SPDXRef-Package-{at}");
    let mut described = vec![image(subject, sum)];
    described.extend(packages.iter().enumerate().map(|(at, one)| package(&name(at), one)));
    let contains = (0..packages.len()).map(|at| relationship("SPDXRef-Image", "CONTAINS", &name(at)));
    let relationships = [relationship("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-Image")].into_iter().chain(contains);
    let created = subject.created.split('.').next().unwrap_or_default().trim_end_matches('Z');
    Json::object([
        ("spdxVersion", Json::text("SPDX-2.3")),
        ("dataLicense", Json::text("CC0-1.0")),
        ("SPDXID", Json::text("SPDXRef-DOCUMENT")),
        ("name", Json::text(subject.reference)),
        ("documentNamespace", Json::text(format!("urn:aifo-coder:spdx:{sum}"))),
        (
            "creationInfo",
            Json::object([
                ("created", Json::text(format!("{created}Z"))),
                ("creators", Json::List(vec![Json::text(format!("Tool: aifo-coder-{VERSION}"))])),
            ]),
        ),
        ("packages", Json::List(described)),
        ("relationships", Json::List(relationships.collect())),
    ])
}

/// The image itself, by the sum that names it.
fn image(subject: &Subject<'_>, sum: &str) -> Json {
    let checksum = Json::object([("algorithm", Json::text("SHA256")), ("checksumValue", Json::text(sum))]);
    let (name, version) = subject.reference.split_once(':').unwrap_or((subject.reference, VERSION));
    let mut members = unclaimed("SPDXRef-Image", name, version);
    members.push(("checksums".to_owned(), Json::List(vec![checksum])));
    members.push(("primaryPackagePurpose".to_owned(), Json::text("CONTAINER")));
    Json::Object(members)
}

fn package(id: &str, package: &Package) -> Json {
    let mut members = unclaimed(id, &package.name, &package.version);
    if let (Some(licence), Some((_, declared))) =
        (&package.licence, members.iter_mut().find(|(name, _)| name == "licenseDeclared"))
    {
        *declared = Json::text(licence);
    }
    let reference = Json::object([
        ("referenceCategory", Json::text("PACKAGE-MANAGER")),
        ("referenceType", Json::text("purl")),
        ("referenceLocator", Json::text(&package.purl)),
    ]);
    members.push(("externalRefs".to_owned(), Json::List(vec![reference])));
    Json::Object(members)
}

/// A package of which nothing is claimed beyond its name and version.
fn unclaimed(id: &str, name: &str, version: &str) -> Vec<(String, Json)> {
    let mut members = vec![("SPDXID", id), ("name", name), ("versionInfo", version)];
    for unknown in ["supplier", "downloadLocation", "licenseConcluded", "licenseDeclared", "copyrightText"] {
        members.push((unknown, "NOASSERTION"));
    }
    let mut members: Vec<(String, Json)> =
        members.into_iter().map(|(name, value)| (name.to_owned(), Json::text(value))).collect();
    members.push(("filesAnalyzed".to_owned(), Json::Bool(false)));
    members
}

fn relationship(from: &str, kind: &str, to: &str) -> Json {
    Json::object([
        ("spdxElementId", Json::text(from)),
        ("relationshipType", Json::text(kind)),
        ("relatedSpdxElement", Json::text(to)),
    ])
}

#[cfg(test)]
mod tests {
    use super::{Package, Subject, document};
    use aifo_shim::json::Json;

    #[test]
    fn every_package_is_contained_in_the_image() {
        let subject = Subject { reference: "a:1", id: "sha256:ab", created: "2026-11-22T00:12:07.914063109Z" };
        let one =
            Package { name: "x".into(), version: "2".into(), purl: "pkg:npm/x@2".into(), licence: Some("MIT".into()) };
        let json = document(&subject, &[one.clone(), Package { licence: None, ..one }]);
        assert_eq!(json.get("creationInfo").unwrap().get("created").unwrap().as_text(), Some("2026-11-22T00:12:07Z"));
        let packages = json.get("packages").unwrap().items();
        assert_eq!(packages.len(), 3);
        assert_eq!(packages[1].get("licenseDeclared").and_then(Json::as_text), Some("MIT"));
        let relationships = json.get("relationships").unwrap().items();
        let ends: Vec<_> = relationships.iter().filter_map(|one| one.get("relatedSpdxElement")?.as_text()).collect();
        let ids: Vec<_> = packages.iter().filter_map(|one| one.get("SPDXID")?.as_text()).collect();
        assert_eq!(ends, ids);
    }
}
